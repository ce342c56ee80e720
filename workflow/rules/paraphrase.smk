# Rewords every text in scope, once a run; the only rules that need an LLM.
#
# A generator with `shards: N` is split over N jobs and put together; a frozen set is only read.
rule paraphrase:
    input:
        texts=str(layout.texts("{task}")),
        model=lambda wc: flow.generator_files(wc.generator),
    output:
        str(layout.paraphrases("{generator}", "{task}")),
    log:
        str(layout.log("paraphrase", "{generator}", "{task}")),
    wildcard_constraints:
        generator=flow.generator_pattern("whole"),
    conda:
        lambda wc: flow.generator_environment(wc.generator)
    # All cores: an LLM on a processor uses what there is, and two at once only slow each other.
    threads: ALL_CORES
    resources:
        gpu=1,
        # Changes speed, not answers, so it must not be a param: changed params rerun a job.
        engine_options=lambda wc: flow.engine_options(wc.generator),
    params:
        settings=lambda wc: flow.paraphrase_settings(wc.task, wc.generator),
        step=PARAPHRASE_STEP,
        cache=str(flow.cache),
    shell:
        "pteb-eval paraphrase --settings {params.settings:q} --texts {input.texts:q} "
        "--engine-options {resources.engine_options:q} --cache {params.cache:q} "
        "--output {output:q} --log {log:q}"


rule paraphrase_shard:
    input:
        texts=str(layout.texts("{task}")),
        model=lambda wc: flow.generator_files(wc.generator),
    output:
        str(layout.paraphrase_shard("{generator}", "{task}", "{shard}")),
    log:
        str(layout.log("paraphrase", "{generator}", "{task}.{shard}")),
    wildcard_constraints:
        generator=flow.generator_pattern("sharded"),
        shard=r"\d+-of-\d+",
    conda:
        lambda wc: flow.generator_environment(wc.generator)
    threads: ALL_CORES
    resources:
        gpu=1,
        engine_options=lambda wc: flow.engine_options(wc.generator),
    params:
        settings=lambda wc: flow.paraphrase_settings(wc.task, wc.generator),
        step=PARAPHRASE_STEP,
        cache=str(flow.cache),
    shell:
        "pteb-eval paraphrase --settings {params.settings:q} --texts {input.texts:q} "
        "--engine-options {resources.engine_options:q} --cache {params.cache:q} "
        "--shard {wildcards.shard} --output {output:q} --log {log:q}"


rule paraphrase_parts:
    input:
        texts=str(layout.texts("{task}")),
        sources=lambda wc: flow.paraphrase_sources(wc.task, wc.generator),
    output:
        str(layout.paraphrases("{generator}", "{task}")),
    log:
        str(layout.log("paraphrase", "{generator}", "{task}")),
    wildcard_constraints:
        generator=flow.generator_pattern("sharded", "frozen"),
    conda:
        lambda wc: flow.generator_environment(wc.generator)
    params:
        settings=lambda wc: flow.paraphrase_settings(wc.task, wc.generator),
        step=PARAPHRASE_STEP,
    shell:
        "pteb-eval paraphrase --settings {params.settings:q} --texts {input.texts:q} "
        "--output {output:q} --log {log:q} {input.sources:q}"
