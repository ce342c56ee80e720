# Loads a task, online if it must be, and lists its texts.
rule fetch:
    input:
        lambda wc: flow.data_files(wc.task),
    output:
        str(layout.texts("{task}")),
    log:
        str(layout.log("fetch", "{task}")),
    conda:
        "../../envs/evaluate.yaml"
    params:
        settings=lambda wc: flow.fetch_settings(wc.task),
        code=flow.code("fetch"),
    shell:
        "pteb-eval fetch --settings {params.settings:q} --code {params.code} "
        "--output {output:q} --log {log:q}"
