# One vector for each model, prompt and distinct text.
rule embed_original:
    input:
        texts=str(layout.texts("{task}")),
        model=str(layout.model("{model}")),
    output:
        str(layout.embeddings("{model}", "original", "{task}")),
    log:
        str(layout.log("embed", "{model}", "original", "{task}")),
    conda:
        "../../envs/evaluate.yaml"
    resources:
        gpu=1,
        device=flow.device_option(),
    params:
        settings=lambda wc: flow.embed_settings(wc.model, wc.task),
        step=EMBED_STEP,
        cache=str(flow.cache),
    shell:
        "pteb-eval embed --settings {params.settings:q} --texts {input.texts:q} "
        "--cache {params.cache:q} {resources.device} --output {output:q} --log {log:q}"


rule embed_paraphrases:
    input:
        texts=str(layout.texts("{task}")),
        paraphrases=str(layout.paraphrases("{generator}", "{task}")),
        model=str(layout.model("{model}")),
    output:
        str(layout.embeddings("{model}", "{generator}", "{task}")),
    log:
        str(layout.log("embed", "{model}", "{generator}", "{task}")),
    conda:
        "../../envs/evaluate.yaml"
    resources:
        gpu=1,
        device=flow.device_option(),
    params:
        settings=lambda wc: flow.embed_settings(wc.model, wc.task),
        step=EMBED_STEP,
        cache=str(flow.cache),
    shell:
        "pteb-eval embed --settings {params.settings:q} --texts {input.texts:q} "
        "--paraphrases {input.paraphrases:q} "
        "--cache {params.cache:q} {resources.device} --output {output:q} --log {log:q}"
