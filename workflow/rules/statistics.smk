# From the scores of all cells to the tables.
rule test:
    input:
        flow.score_files(),
        flow.paraphrase_files(),
        flow.texts_files(),
    output:
        flow.tables(),
    params:
        settings=flow.test_settings(),
        code=flow.code("test"),
        root=str(layout.root),
    log:
        str(layout.log("test")),
    shell:
        "pteb-eval test --settings {params.settings:q} --root {params.root:q} --log {log:q}"


rule tables:
    input:
        rules.test.output,
