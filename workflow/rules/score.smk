# mteb's evaluators on cached vectors.
rule score_original:
    input:
        texts=str(layout.texts("{task}")),
        embeddings=str(layout.embeddings("{model}", "original", "{task}")),
    output:
        scores=str(layout.scores("{model}", "original", "{task}")),
        instances=str(layout.instances("{model}", "original", "{task}")),
    log:
        str(layout.log("score", "{model}", "original", "{task}")),
    conda:
        "../../envs/evaluate.yaml"
    params:
        settings=lambda wc: flow.score_settings(wc.model, wc.task),
        code=flow.code("score"),
    shell:
        "pteb-eval score --settings {params.settings:q} --code {params.code} "
        "--texts {input.texts:q} --embeddings {input.embeddings:q} "
        "--scores {output.scores:q} --instances {output.instances:q} --log {log:q}"


# The original's score in mteb's own format, for tools that read mteb results.
rule mteb_result:
    input:
        str(layout.scores("{model}", "original", "{task}")),
    output:
        str(layout.mteb("{model}", "{revision}", "{task}")),
    log:
        str(layout.log("score", "{model}", "{revision}", "{task}")),
    conda:
        "../../envs/evaluate.yaml"
    shell:
        "pteb-eval score --export {input:q} --mteb {output:q} --log {log:q}"


rule score_paraphrases:
    input:
        texts=str(layout.texts("{task}")),
        paraphrases=str(layout.paraphrases("{generator}", "{task}")),
        original=str(layout.embeddings("{model}", "original", "{task}")),
        embeddings=str(layout.embeddings("{model}", "{generator}", "{task}")),
    output:
        scores=str(layout.scores("{model}", "{generator}", "{task}")),
        instances=str(layout.instances("{model}", "{generator}", "{task}")),
        surface=str(layout.surface("{model}", "{generator}", "{task}")),
    log:
        str(layout.log("score", "{model}", "{generator}", "{task}")),
    conda:
        "../../envs/evaluate.yaml"
    params:
        settings=lambda wc: flow.score_settings(wc.model, wc.task, wc.generator),
        code=flow.code("score"),
    shell:
        "pteb-eval score --settings {params.settings:q} --code {params.code} "
        "--texts {input.texts:q} --paraphrases {input.paraphrases:q} "
        "--embeddings {input.original:q} --embeddings {input.embeddings:q} "
        "--surface {output.surface:q} "
        "--scores {output.scores:q} --instances {output.instances:q} --log {log:q}"


# The same beside the default, on instances that the first judge finds to have kept their meaning.
rule score_judged:
    input:
        texts=str(layout.texts("{task}")),
        paraphrases=str(layout.paraphrases("{generator}", "{task}")),
        original=str(layout.embeddings("{model}", "original", "{task}")),
        embeddings=str(layout.embeddings("{model}", "{generator}", "{task}")),
        drift=str(layout.drift(flow.first_judge, "{generator}", "{task}")),
        validation=str(layout.table("judge_validation")),
    output:
        scores=str(layout.judged_scores("{model}", "{generator}", "{task}")),
        instances=str(layout.judged_instances("{model}", "{generator}", "{task}")),
    log:
        str(layout.log("score", "judged", "{model}", "{generator}", "{task}")),
    conda:
        "../../envs/evaluate.yaml"
    params:
        settings=lambda wc: flow.judged_settings(wc.model, wc.task),
        code=flow.code("score_judged"),
    shell:
        "pteb-eval score --settings {params.settings:q} --code {params.code} "
        "--texts {input.texts:q} --paraphrases {input.paraphrases:q} "
        "--embeddings {input.original:q} --embeddings {input.embeddings:q} "
        "--judged {input.drift:q} --validation {input.validation:q} "
        "--scores {output.scores:q} --instances {output.instances:q} --log {log:q}"
