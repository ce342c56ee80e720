# Figures, and the page that shows everything.
rule plot:
    input:
        rules.tables.input,
    output:
        flow.figures(),
    log:
        str(layout.log("plot")),
    conda:
        "../../envs/report.yaml"
    params:
        settings=flow.plot_settings(),
        code=flow.code("plot"),
        run=flow.config.name,
    shell:
        "pteb-eval plot --settings {params.settings:q} --root results/{params.run:q} --log {log:q}"


rule figures:
    input:
        rules.plot.output,


rule report:
    input:
        rules.tables.input,
        rules.plot.output,
        flow.paraphrase_files(),
        flow.texts_files(),
        flow.review_tables(),
    output:
        str(layout.report),
    log:
        str(layout.log("report")),
    conda:
        "../../envs/report.yaml"
    params:
        settings=flow.report_settings(),
        code=flow.code("report"),
        run=flow.config.name,
    shell:
        "pteb-eval report --settings {params.settings:q} --root results/{params.run:q} --log {log:q}"


# Results on the implicit suite, in its benchmark's layout, with the published averages beside.
rule report_suite:
    input:
        flow.suite_sources(),
    output:
        flow.suite_files(),
    log:
        str(layout.log("report", "suite")),
    conda:
        "../../envs/report.yaml"
    params:
        settings=flow.suite_settings(),
        code=flow.code("suite"),
        run=flow.config.name,
    shell:
        "pteb-eval report --suite --settings {params.settings:q} --root results/{params.run:q} "
        "--log {log:q}"
