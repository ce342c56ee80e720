# Rewords every text in scope, once a run; the only rule that needs an LLM.
rule paraphrase:
    input:
        str(layout.texts("{task}")),
    output:
        str(layout.paraphrases("{generator}", "{task}")),
    log:
        str(layout.log("paraphrase", "{generator}", "{task}")),
    conda:
        "../../envs/generate.yaml"
    # All cores: an LLM on a processor uses what there is, and two at once only slow each other.
    threads: workflow.cores or 1
    resources:
        gpu=1,
        # Changes speed, not answers, so it must not be a param: changed params rerun a job.
        engine_options=lambda wc: flow.engine_options(wc.generator),
    params:
        settings=lambda wc: flow.paraphrase_settings(wc.task, wc.generator),
        step=PARAPHRASE_STEP,
        cache=str(flow.cache),
    shell:
        "pteb-eval paraphrase --settings {params.settings:q} --texts {input:q} "
        "--engine-options {resources.engine_options:q} --cache {params.cache:q} "
        "--output {output:q} --log {log:q}"
