# pteb-eval: how much of a text-embedding model's score survives a rewording?
#
#   snakemake --cores N                          the demo
#   snakemake --cores N --configfile my.yaml     your own run
#
# A rule is one call of `pteb-eval <stage>`; what a stage does stands in src/pteb_eval.
from snakemake.utils import min_version

min_version("9.27")

if not workflow.overwrite_configfiles:

    configfile: "config/demo.yaml"


report: "workflow/report/workflow.rst"


include: "workflow/rules/common.smk"
include: "workflow/rules/fetch.smk"
include: "workflow/rules/paraphrase.smk"
include: "workflow/rules/judge.smk"
include: "workflow/rules/embed.smk"
include: "workflow/rules/score.smk"
include: "workflow/rules/statistics.smk"
include: "workflow/rules/report.smk"


rule all:
    default_target: True
    input:
        flow.files_on_the_way(),
        flow.final_files(),
