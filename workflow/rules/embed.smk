# One vector for each model, prompt and distinct text.
rule embed_original:
    input:
        texts=str(layout.texts("{task}")),
        model=lambda wc: flow.model_files(wc.model),
    output:
        str(layout.embeddings("{model}", "original", "{task}")),
    params:
        settings=lambda wc: flow.embed_settings(wc.model, wc.task),
        step=EMBED_STEP,
    log:
        str(layout.log("embed", "{model}", "original", "{task}")),
    resources:
        gpu=1,
    shell:
        "pteb-eval embed --settings {params.settings:q} --texts {input.texts:q} "
        "--cache {CACHE:q} {DEVICE} --output {output:q} --log {log:q}"


rule embed_paraphrases:
    input:
        texts=str(layout.texts("{task}")),
        paraphrases=str(layout.paraphrases("{generator}", "{task}")),
        model=lambda wc: flow.model_files(wc.model),
    output:
        str(layout.embeddings("{model}", "{generator}", "{task}")),
    params:
        settings=lambda wc: flow.embed_settings(wc.model, wc.task),
        step=EMBED_STEP,
    log:
        str(layout.log("embed", "{model}", "{generator}", "{task}")),
    resources:
        gpu=1,
    shell:
        "pteb-eval embed --settings {params.settings:q} --texts {input.texts:q} "
        "--paraphrases {input.paraphrases:q} "
        "--cache {CACHE:q} {DEVICE} --output {output:q} --log {log:q}"
