# Figures, and the page that shows everything.
rule plot:
    input:
        rules.test.output,
    output:
        flow.figures(),
    params:
        code=flow.code("plot"),
        root=str(layout.root),
    log:
        str(layout.log("plot")),
    shell:
        "pteb-eval plot --root {params.root:q} --log {log:q}"


rule figures:
    input:
        rules.plot.output,


rule report:
    input:
        rules.test.output,
        rules.plot.output,
        flow.paraphrase_files(),
        flow.texts_files(),
    output:
        str(layout.report),
    params:
        settings=flow.report_settings(),
        code=flow.code("report"),
        root=str(layout.root),
    log:
        str(layout.log("report")),
    shell:
        "pteb-eval report --settings {params.settings:q} --root {params.root:q} --log {log:q}"
