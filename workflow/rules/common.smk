import re

from pteb_eval.snakemake_report import shown
from pteb_eval.versions import EMBED_STEP, JUDGE_STEP, PARAPHRASE_STEP
from pteb_eval.workflow import from_snakemake

flow = from_snakemake(config, workflow.overwrite_configfiles)
layout = flow.layout
# More than any machine has: Snakemake takes what there is. On a cluster the profile says how many.
ALL_CORES = 1024


# Names come from the config, so a typo in a target fails before anything runs.
wildcard_constraints:
    task="|".join(map(re.escape, flow.loaded)),
    model="|".join(map(re.escape, flow.models)),
    generator="|".join(map(re.escape, flow.generators)),
    judge="|".join(map(re.escape, flow.judges)) or "(?!)",
    revision="[^/]+",


localrules:
    all,
    fetch,
    fetch_model,
    fetch_generator,
    fetch_judge,
    fetch_all,
    tables,
    figures,
    mteb_result,
