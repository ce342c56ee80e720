# Was the meaning kept? Judges rate paraphrases, and are held against people's ratings themselves.
#
# A judge with `shards: N` is split over N jobs for each task, as a generator is.
rule judge:
    input:
        texts=str(layout.texts("{task}")),
        paraphrases=str(layout.paraphrases("{generator}", "{task}")),
        model=lambda wc: flow.judge_files(wc.judge),
    output:
        str(layout.judgements("{judge}", "{generator}", "{task}")),
    log:
        str(layout.log("judge", "{judge}", "{generator}", "{task}")),
    wildcard_constraints:
        judge=flow.judge_pattern(sharded=False),
    conda:
        lambda wc: flow.judge_environment(wc.judge)
    threads: ALL_CORES
    resources:
        gpu=1,
        engine_options=lambda wc: flow.judge_options(wc.judge),
    params:
        settings=lambda wc: flow.judge_settings(wc.judge, wc.task, wc.generator),
        step=JUDGE_STEP,
        cache=str(flow.cache),
    shell:
        "pteb-eval judge --settings {params.settings:q} --texts {input.texts:q} "
        "--paraphrases {input.paraphrases:q} "
        "--engine-options {resources.engine_options:q} --cache {params.cache:q} "
        "--output {output:q} --log {log:q}"


rule judge_shard:
    input:
        texts=str(layout.texts("{task}")),
        paraphrases=str(layout.paraphrases("{generator}", "{task}")),
        model=lambda wc: flow.judge_files(wc.judge),
    output:
        str(layout.judgement_shard("{judge}", "{generator}", "{task}", "{shard}")),
    log:
        str(layout.log("judge", "{judge}", "{generator}", "{task}.{shard}")),
    wildcard_constraints:
        judge=flow.judge_pattern(sharded=True),
        shard=r"\d+-of-\d+",
    conda:
        lambda wc: flow.judge_environment(wc.judge)
    threads: ALL_CORES
    resources:
        gpu=1,
        engine_options=lambda wc: flow.judge_options(wc.judge),
    params:
        settings=lambda wc: flow.judge_settings(wc.judge, wc.task, wc.generator),
        step=JUDGE_STEP,
        cache=str(flow.cache),
    shell:
        "pteb-eval judge --settings {params.settings:q} --texts {input.texts:q} "
        "--paraphrases {input.paraphrases:q} "
        "--engine-options {resources.engine_options:q} --cache {params.cache:q} "
        "--shard {wildcards.shard} --output {output:q} --log {log:q}"


rule judge_parts:
    input:
        paraphrases=str(layout.paraphrases("{generator}", "{task}")),
        shards=lambda wc: flow.judgement_shards(wc.judge, wc.generator, wc.task),
    output:
        str(layout.judgements("{judge}", "{generator}", "{task}")),
    log:
        str(layout.log("judge", "{judge}", "{generator}", "{task}")),
    wildcard_constraints:
        judge=flow.judge_pattern(sharded=True),
    conda:
        "../../envs/generate.yaml"
    params:
        settings=lambda wc: flow.judge_settings(wc.judge, wc.task, wc.generator),
        step=JUDGE_STEP,
    shell:
        "pteb-eval judge --settings {params.settings:q} --paraphrases {input.paraphrases:q} "
        "--output {output:q} --log {log:q} {input.shards:q}"


# What the ratings say of each instance: how well its texts kept their meaning in all runs.
rule judge_instances:
    input:
        texts=str(layout.texts("{task}")),
        paraphrases=str(layout.paraphrases("{generator}", "{task}")),
        judgements=str(layout.judgements("{judge}", "{generator}", "{task}")),
    output:
        str(layout.drift("{judge}", "{generator}", "{task}")),
    log:
        str(layout.log("judge", "instances", "{judge}", "{generator}", "{task}")),
    conda:
        "../../envs/evaluate.yaml"
    params:
        settings=lambda wc: flow.drift_settings(wc.judge, wc.generator, wc.task),
        code=flow.code("judge_instances"),
    shell:
        "pteb-eval judge --settings {params.settings:q} --code {params.code} "
        "--texts {input.texts:q} --paraphrases {input.paraphrases:q} "
        "--judgements {input.judgements:q} --output {output:q} --log {log:q}"


# Pairs that people rated, and the judges' ratings of them.
rule judge_gold:
    input:
        str(layout.texts("{task}")),
    output:
        str(layout.gold("{task}")),
    log:
        str(layout.log("judge", "gold", "{task}")),
    conda:
        "../../envs/evaluate.yaml"
    params:
        settings=lambda wc: flow.gold_settings(wc.task),
        code=flow.code("judge_gold"),
    shell:
        "pteb-eval judge --settings {params.settings:q} --code {params.code} "
        "--output {output:q} --log {log:q}"


rule judge_pairs:
    input:
        gold=str(layout.gold("{task}")),
        model=lambda wc: flow.judge_files(wc.judge),
    output:
        str(layout.validation("{judge}", "{task}")),
    log:
        str(layout.log("judge", "validation", "{judge}", "{task}")),
    conda:
        lambda wc: flow.judge_environment(wc.judge)
    threads: ALL_CORES
    resources:
        gpu=1,
        engine_options=lambda wc: flow.judge_options(wc.judge),
    params:
        settings=lambda wc: flow.judge_settings(wc.judge, wc.task),
        step=JUDGE_STEP,
        cache=str(flow.cache),
    shell:
        "pteb-eval judge --settings {params.settings:q} --gold {input.gold:q} "
        "--engine-options {resources.engine_options:q} --cache {params.cache:q} "
        "--output {output:q} --log {log:q}"


rule judge_validation:
    input:
        published=local("resources/published.yaml"),
        pairs=flow.validation_files(),
    output:
        csv=shown([str(layout.table("judge_validation", "csv"))]),
        md=str(layout.table("judge_validation", "md")),
        tex=str(layout.table("judge_validation", "tex")),
    log:
        str(layout.log("judge", "validation")),
    conda:
        "../../envs/evaluate.yaml"
    params:
        settings=flow.validation_settings(),
        code=flow.code("judge_validation"),
    shell:
        "pteb-eval judge --settings {params.settings:q} --published {input.published:q} "
        "--output {output.csv:q} --log {log:q} {input.pairs:q}"
