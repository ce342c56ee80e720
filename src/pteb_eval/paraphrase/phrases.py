"""What LLMs say around an answer or in its place, as fragments of regular expressions.

Data of `cleaning`: whoever changes a list raises `CLEANING_VERSION` there.
"""

# What the thing is called that was asked for; stems, so that the endings of each language pass.
REWORDINGS = (
    # English
    *(r"paraphras\w*", r"re-?phras\w*", r"re-?word\w*", r"re-?writ\w+", r"rewrote", r"restate\w*"),
    # German, Dutch, Danish, Norwegian, Swedish
    *(r"umformulier\w*", r"neuformulier\w*", r"umschreib\w*", r"herformuler\w*", "herschreven"),
    *(r"omformuler\w*", r"omskriv\w*", "omskrevet"),
    # French, Spanish, Portuguese, Italian
    *(r"reformul\w*", r"riformul\w*", r"par[aá]fras\w*"),
    # Polish, Russian, Turkish
    *(r"parafraz\w*", r"przeformuł\w*", r"перефраз\w*", r"парафраз\w*", r"переформул\w*"),
    *(r"yeniden ifade\w*", r"başka bir ifade\w*"),
    # Chinese, Japanese, Korean, Arabic
    *(
        r"改写\w{0,3}",
        r"改寫\w{0,3}",
        "转述",
        "释义",
        r"言い換え\w{0,3}",
        "바꿔 ?쓰기",
        "다시 ?쓴 문장",
    ),
    *("إعادة صياغة", "إعادة الصياغة"),
)

# How a lead-in begins.
OPENINGS = (
    r"(?:sure|certainly|of course|absolutely|okay|ok|great)\b",
    r"(?:here(?:['’]s| is| are)|this is|the following|below is)\b",
    r"(?:the|a|an|my|one|one possible) (?=\W*(?:" + "|".join(REWORDINGS) + "))",
    r"(?:hier (?:ist|sind|is)|natürlich|gerne)\b",
    r"(?:voici|bien sûr|aquí (?:está|tienes|hay)|claro|por supuesto|ecco|certo|aqui está)\b",
    r"(?:her er|här är|oto|вот|конечно|işte)\b",
    *("以下是", "好的", "当然", "以下は", "以下に", "다음은", "물론", "إليك", "بالتأكيد"),
)

# How a paragraph begins that comments on the answer or offers another one.
AFTERTHOUGHTS = (
    r"(?:note|explanation|(?:key |main )?changes|let me know|i hope|hope this)\b",
    r"(?:would you like|do you want|i (?:have )?(?:kept|changed|replaced))\b",
    r"this (?:version|paraphrase|rephras\w*|rewording)\b",
    r"alternativ\w*",
    r"(?:or|oder|ou|o|eller|of|или|або)(?:\W{0,4}\n| ?[:,])",
    r"(?:hinweis|erklärung|remarque|explication|nota|explicación|spiegazione|explicação)\b",
    r"(?:opmerking|uitleg|bemærk|uwaga|примечание|объяснение)\b",
    *("注[:：]", "说明", "注意", "補足", "참고", "ملاحظة"),
)

# What the items of a list of alternatives are called.
ALTERNATIVES = (
    *("option", "alternative", "version", "variante?", "paraphrase", "opción", "вариант", "选项"),
)

_CANNOT = (
    r"(?:can(?:no|['’]?)t|can not|am (?:unable|not able) to|['’]m (?:unable|not able) to|won['’]?t"
    r"|will not)"
)
_HELP = (
    r"(?:help|assist|fulfil|comply|provide|process|(?:re)?phrase|paraphrase|rewrite|reword|answer"
    r"|generate|create|complete|engage|participate|respond|do (?:that|this)|discuss)"
)

# How an answer begins that declines or asks back. Being unable alone is no refusal: people say it.
REFUSALS = (
    # English
    rf"(?:(?:i['’]?m|i am) (?:really |very |so )?sorry\W+)?(?:but )?I ?{_CANNOT} {_HELP}",
    rf"(?:sorry|i apologi[sz]e|unfortunately)\W+(?:but )?I ?{_CANNOT} {_HELP}",
    r"(?:as|i am|i['’]m) an? (?:ai|artificial intelligence|(?:large )?language model)\b",
    r"(?:please|could you) (?:please )?provide (?:me with )?(?:the|a|your|more) "
    r"(?:text|sentence|original|context)",
    # German, Dutch
    r"(?:es )?tut mir leid\W+(?:aber )?(?:ich kann|dabei kann|da kann|das kann)\b",
    r"ich kann (?:dir|ihnen|dabei|diese\w*)\b.{0,40}nicht\b",
    r"als (?:ki|künstliche|(?:großes )?sprachmodell)\b",
    r"(?:het )?spijt me\W+(?:maar )?ik kan\b",
    # French, Spanish, Portuguese, Italian
    r"(?:je suis )?d[ée]sol[ée]\w*\W+(?:mais )?je ne (?:peux|suis)\b",
    r"je ne peux pas (?:vous aider|répondre|reformuler|fournir)\b",
    r"en tant qu['’](?:ia|intelligence|assistant|modèle)\b",
    r"lo siento\W+(?:pero )?no puedo\b",
    r"no puedo (?:ayudar|cumplir|proporcionar|reformular|parafrasear)",
    r"como (?:modelo de l(?:enguaje|inguagem)|una? (?:ia|inteligencia))\b",
    r"(?:desculpe|lamento|sinto muito)\W+(?:mas )?não posso\b",
    r"mi dispiace\W+(?:ma )?non posso\b",
    r"come (?:modello linguistico|intelligenza artificiale)\b",
    # Danish, Norwegian, Swedish
    r"(?:jeg )?beklager\W+(?:men )?jeg kan (?:desværre |dessverre )?ikke\b",
    r"(?:jag )?beklagar\W+(?:men )?jag kan (?:tyvärr )?inte\b",
    # Polish, Russian, Turkish
    r"przepraszam\W+(?:ale )?nie mogę\b",
    r"jako (?:model językowy|sztuczna inteligencja)\b",
    r"(?:извините|простите|к сожалению)\W+(?:но )?я не могу\b",
    r"как (?:языковая модель|искусственный интеллект)\b",
    r"üzgünüm\W+.{0,40}(?:edemem|yapamam|olamam)",
    # Chinese, Japanese, Korean, Arabic
    r"(?:很抱歉|抱歉|对不起|對不起)[，,\s]*(?:但)?我(?:无法|不能|無法)",
    r"作为(?:一个|一名)?(?:ai|人工智能|语言模型)",
    r"申し訳(?:ありません|ございません).{0,20}(?:できません|お手伝い)",
    r"죄송(?:하지만|합니다).{0,20}(?:없습니다|어렵습니다)",
    r"عذر\w*\W+(?:لا أستطيع|لا يمكنني)",
)
