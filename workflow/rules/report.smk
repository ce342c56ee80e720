# Figures with the captions of figures and tables, and the page that shows everything. Small jobs:
# what fails once fails again.
rule plot:
    input:
        rules.tables.input,
    output:
        shown(flow.figures()),
        flow.captions(),
    log:
        str(layout.log("plot")),
    retries: 0
    conda:
        "../../envs/report.yaml"
    params:
        settings=flow.plot_settings(),
        code=flow.code("plot"),
        root=subpath(output[0], ancestor=2),
    shell:
        "pteb-eval plot --settings {params.settings:q} --root {params.root:q} --log {log:q}"


rule figures:
    input:
        rules.plot.output,


rule report:
    input:
        rules.tables.input,
        flow.paraphrase_files(),
        flow.texts_files(),
        flow.instance_files(),
        flow.judgement_files(),
        flow.suite_tables(),
        local(flow.review_tables()),
    output:
        report(str(layout.report), caption="../report/page.rst", category="Page"),
    log:
        str(layout.log("report")),
    retries: 0
    conda:
        "../../envs/report.yaml"
    params:
        settings=flow.report_settings(),
        code=flow.code("report"),
        root=subpath(output[0], parent=True),
    shell:
        "pteb-eval report --settings {params.settings:q} --root {params.root:q} --log {log:q}"


# Results on the implicit suite, in its benchmark's layout, with the published averages beside.
rule report_suite:
    input:
        flow.suite_sources(),
    output:
        shown(flow.suite_files()),
    log:
        str(layout.log("report", "suite")),
    retries: 0
    conda:
        "../../envs/report.yaml"
    params:
        settings=flow.suite_settings(),
        code=flow.code("suite"),
        root=subpath(output[0], ancestor=3),
    shell:
        "pteb-eval report --suite --settings {params.settings:q} --root {params.root:q} "
        "--log {log:q}"
