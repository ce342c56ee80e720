# Loads a task, online if it must be, and lists its texts.
rule fetch:
    input:
        lambda wc: local(flow.data_files(wc.task)),
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


# Loads a model once, so that the nodes that embed need no network.
rule fetch_model:
    input:
        lambda wc: local(flow.model_files(wc.model)),
    output:
        str(layout.model("{model}")),
    log:
        str(layout.log("fetch", "models", "{model}")),
    conda:
        "../../envs/evaluate.yaml"
    params:
        settings=lambda wc: flow.model_settings(wc.model),
    shell:
        "pteb-eval fetch --model {params.settings:q} --output {output:q} --log {log:q}"


# Downloads an LLM of the hub; engines with models of their own need nothing.
rule fetch_generator:
    output:
        str(layout.generator("{generator}")),
    log:
        str(layout.log("fetch", "generators", "{generator}")),
    conda:
        "../../envs/generate.yaml"
    params:
        settings=lambda wc: flow.generator_model_settings(wc.generator),
    shell:
        "pteb-eval fetch --generator {params.settings:q} --output {output:q} --log {log:q}"


rule fetch_judge:
    output:
        str(layout.judge("{judge}")),
    log:
        str(layout.log("fetch", "judges", "{judge}")),
    conda:
        "../../envs/generate.yaml"
    params:
        settings=lambda wc: flow.judge_model_settings(wc.judge),
    shell:
        "pteb-eval fetch --generator {params.settings:q} --output {output:q} --log {log:q}"


# All that needs a network; what comes after it runs on nodes without one.
rule fetch_all:
    input:
        flow.fetched_files(),
