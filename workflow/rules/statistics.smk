# From the scores of all cells to the tables.
rule test:
    input:
        flow.score_files(),
        flow.paraphrase_files(),
        flow.texts_files(),
    output:
        flow.tables(),
    log:
        str(layout.log("test")),
    conda:
        "../../envs/report.yaml"
    params:
        settings=flow.test_settings(),
        code=flow.code("test"),
        run=flow.config.name,
    shell:
        "pteb-eval test --settings {params.settings:q} --root results/{params.run:q} --log {log:q}"


rule tables:
    input:
        rules.test.output,
