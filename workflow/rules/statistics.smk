from pteb_eval.layout import RANK_TABLES


# From the scores of all cells to drops, intervals, tests and verdicts.
rule test:
    input:
        flow.score_files(),
        flow.paraphrase_files(),
        flow.texts_files(),
        flow.embedding_files(),
        flow.judgement_files(),
    output:
        shown(flow.tables(flow.test_tables())),
    log:
        str(layout.log("test")),
    conda:
        "../../envs/report.yaml"
    params:
        settings=flow.test_settings(),
        code=flow.code("test"),
        root=subpath(output[0], ancestor=2),
    shell:
        "pteb-eval test --settings {params.settings:q} --root {params.root:q} --log {log:q}"


# The order of the models before and after rewording.
rule rank:
    input:
        flow.score_files(),
        flow.paraphrase_files(),
        flow.texts_files(),
    output:
        shown(flow.tables(RANK_TABLES)),
    log:
        str(layout.log("rank")),
    conda:
        "../../envs/report.yaml"
    params:
        settings=flow.rank_settings(),
        code=flow.code("rank"),
        root=subpath(output[0], ancestor=2),
    shell:
        "pteb-eval rank --settings {params.settings:q} --root {params.root:q} --log {log:q}"


rule tables:
    input:
        rules.test.output,
        rules.rank.output,
        flow.validation_tables(),
        flow.files_on_the_way(),
