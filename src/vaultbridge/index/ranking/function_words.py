"""Function words: articles, pronouns, prepositions, auxiliary verbs, question words.

A question's "how", "do" and "my" are rare in notes that state things, so their frequency in the vault does
not show how little they mean. The lists contain the words that people use in questions, folded as the index
folds them (`fold.fold_text`). They need not be complete: the words of a vault that most notes contain count
little anyway."""

from __future__ import annotations

from typing import Final

LISTS: Final = {
    "english": (
        "a about after all also am an and any anyone anything are as at be because been before being "
        "between both but by can cannot could d did didn do does doesn doing don done during each either "
        "else ever every few for from get gets getting give given go goes going got had has have having he "
        "her here hers him his how however i if in into is isn it its itself just know ll m make makes many "
        "may me might more most much must my myself need no nor not of off on once one ones only or other "
        "others our out over own please re s same shall she should so some somebody someone something such "
        "t tell than that the their them then there these they thing things this those though through to "
        "too under until up upon us use ve very want was way ways we were what whats when where whether "
        "which while who whom whose why will with within without would you your yours"
    ),
    "german": (
        "aber alle allem allen aller alles als also am an andere anderen auch auf aus bei bin bis bist da "
        "damit dann das dass dazu dein deine dem den denn der des dich die dies diese diesem diesen dieser "
        "dieses dir doch dort du durch ein eine einem einen einer eines er es etwas euch fur gegen gibt hab "
        "habe haben hat hatte hatten hier ich ihm ihn ihr ihre ihrem ihren ihrer im in ins ist jede jeder "
        "jedes jetzt kann kannst kein keine man manche mehr mein meine meinem meinen meiner mich mir mit "
        "muss nach nicht nichts noch nun nur ob oder ohne sehr sein seine seinem seinen seiner sich sie "
        "sind so soll sollte sondern uber um und uns unser unter viel viele vom von vor wann war waren "
        "warum was welche welchem welchen welcher welches wem wen wenn wer werden weshalb wie wieso will "
        "wir wird wo woher wohin wurde wurden zu zum zur zwischen"
    ),
    "french": (
        "a ai alors apres au aucun aussi autre autres aux avant avec avez avoir avons c ce ceci cela celle "
        "celui ces cet cette ceux chaque comment d dans de des donc dont du elle elles en encore entre est "
        "et etaient etait etant ete etes etre eu eux faire fait faut il ils j je l la le les leur leurs "
        "lors lui m ma mais me mes moi mon n ne ni nos notre nous on ont ou par pas pendant peut peuvent "
        "plus pour pourquoi puis qu quand que quel quelle quelles quels qui quoi s sa sans se sera ses si "
        "son sont sous suis sur t ta te tes toi ton tous tout toute toutes tres tu un une vers via vos "
        "votre vous y"
    ),
    "spanish": (
        "a al algo algun alguna algunas algunos ante antes aquel asi aunque cada como con contra cual "
        "cuales cuando cuanta cuantas cuanto cuantos de del desde donde dos durante e el ella ellas ellos "
        "en entre era eran es esa esas ese eso esos esta estaba estado estan estar este esto estos fue "
        "fueron ha haber habia hace hacer hacia han hasta hay la las le les lo los mas me mi mis mucho muy "
        "nada ni no nos nosotros nuestro o os otra otro otros para pero por porque puede pueden puedo que "
        "quien quienes se sea ser si sin sobre solo son soy su sus tal tambien tanto te tiene tienen todo "
        "todos tras tu tus un una unas uno unos usted y ya yo"
    ),
    "italian": (
        "a ad agli ai al alla alle allo anche avere c che chi ci come con cosa cui da dagli dai dal dalla "
        "dalle degli dei del della delle dello di dopo dove e ed era erano essere fare fu gli ha hai hanno "
        "ho i il in io l la le lei li lo loro lui ma mi mia mio molto ne negli nei nel nella nelle nello "
        "noi non nostro o ogni per perche piu poi posso prima puo quale quali quando quanti quanto quella "
        "quelle quello questa queste questi questo qui se sei si sia siamo sono su sua sue sugli sui sul "
        "sulla suo suoi tra tu tutti tutto un una uno vi voi"
    ),
    "portuguese": (
        "a ao aos aquela aquele aqui as assim ate cada com como da das de dela dele depois do dos e ela "
        "elas ele eles em entre era eram essa esse esta estao estar estas este esteja estes eu faz fazer "
        "foi foram ha isso isto ja lhe lhes mais mas me mesmo meu minha muito na nao nas nem no nos nossa "
        "nosso num numa o onde os ou para pela pelas pelo pelos pode podem por porque posso quais qual "
        "quando quanto quantos que quem sao se seja sem ser seu seus so sob sobre sua suas tambem te tem "
        "tinha todo todos tu tua um uma voce voces"
    ),
    "dutch": (
        "aan al alle als altijd andere ben bij daar dan dat de deze die dit doen door dus een en er ge geen "
        "had heb hebben heeft hem het hier hij hoe hoeveel hun ik in is je kan kunnen maar me meer men met "
        "mij mijn moet na naar niet nog nu of om omdat onder ons ook op over te tegen toch toen tot u uit "
        "van veel voor waar waarom wanneer was wat we welk welke werd wie wij wil worden wordt ze zei zich "
        "zij zijn zo zonder zou zullen"
    ),
    "swedish": (
        "alla allt ar att av blev bli blir da de dem den denna deras dess det detta dig din dina dock du "
        "efter eller en er ett for fran genom ha hade han har hennes hon honom hur i icke in inte ja jag "
        "kan kunde man med mellan men mig min mitt mot mycket nagon nagot nar ni nu och om oss pa sa samma "
        "sedan sig sin sina ska skulle som till under upp ut utan vad var vara varfor varje vart vem vi vid "
        "vilka vilken vilket"
    ),
    "danish": (
        "af alle alt anden at blev blive bliver da de dem den denne der deres det dette dig din dog du "
        "efter eller en end er et for fra ham han hans har havde hende hendes her hos hun hvad hvem hvilke "
        "hvilken hvis hvor hvordan hvorfor hvornar i ikke ind jeg jer kan kunne man mange med meget men mig "
        "min mod nar noget nogle nu og ogsa om op os over pa sa selv sig sin skal skulle som til ud under "
        "var vi vil ville vor"
    ),
    "finnish": (
        "ei eika en etta ha han hanen he ja jo joka jos jossa jotka kaikki kanssa keta kuin kuinka kuka kun "
        "me mika miksi milla millainen milloin mina missa mita mitka mutta myos ne niin nyt ole olen oli "
        "olivat olla on ovat paljon se sen siina sina sita tai tama tassa te voi voiko"
    ),
    "russian": (
        "а без более бы был была были было быть в вам вас ваш весь во вот все всего всех вы где да даже для "
        "до его ее если есть еще ж же за зачем и из или им их к как какая какие каким какими каков какого "
        "какое какои какую когo когда кого кому которая которого которое которые которыи кто куда ли либо "
        "лишь меня мне может можно мои мы на над надо нас не него нее нет ни них но ну о об один однако он "
        "она они оно от откуда по под почему при про раз с сам себя сколько со так также такои там то тогда "
        "того тоже только том тот ты у уже чего чем через что чтобы чье чья эта эти это этого этои этом "
        "этот я"
    ),
    "ukrainian": (
        "а або але без би був була були було бути в вас ви вона вони все всі де для до з за зі и иого иому "
        "кого коли кому котрии куди мене мені ми може можна мои на над нас не немає них ні о об один от по "
        "при про с себе скільки та так такии також там те ти то тои тому тількі у хто це цеи ця чи чим чого "
        "чому що щоб я як яка яке якии якого які і із"
    ),
    "polish": (
        "a aby albo ale bo by byc byl był była było co czy dla do gdy gdzie go i ich ile im ja jak jaka "
        "jaki jakie jako je jego jej jesli jest jestem jeszcze juz kiedy kto ktora ktore ktory lub ma mam "
        "mi mnie moge moze mozna na nad nas nich nie niz o od on ona oni po pod przez przy sa sie tak tam "
        "te tego tej ten to tu ty w we wszystko z za ze"
    ),
    "romanian": (
        "a acea aceasta aceste acestui ai al ale am ar are as asta atunci au avea avut ca care carei carui "
        "cat cate cati catre ce cea cei cel cele celor cine cu cum da dar de deci deja despre din dintre "
        "doar dupa ea ei el ele era erau este eu face fara fi fie fost iar ii il in intre isi la le li lor "
        "lui mai mea mult ne nici nu o or ori pana pe pentru poate prin sa sale sau se si sint sub sunt un "
        "una unde unei unor unui va voi vor"
    ),
    "turkish": (
        "acaba ama ancak az bana bazi belki ben beni benim bir biri biz bu buna bunda bunu bunun cok cunku "
        "da daha de defa degil diye eger en gibi hangi hangisi hem hep hepsi her hic icin ile ise kac kadar "
        "ki kim kime kimin mi mu mı nasil nasıl ne neden nedir neler nerede nereye nicin niye o olan olarak "
        "oldu oldugu olmak olup onlar onu onun sen siz su tum ve veya ya yani"
    ),
    "greek": (
        "α αλλα αν απο αποτελει αυτα αυτεσ αυτη αυτο αυτοι αυτοσ αυτου για γιατι δε δεν εαν ειναι εκεινο "
        "ενα ενασ εχει εχουν η ηταν θα και κατα κι μασ με μεσα μετα μη μια μου να ο οι οποια οποιο οποιοσ "
        "οταν οτι ποια ποιεσ ποιο ποιοι ποιον ποιοσ ποιου ποιων ποσα ποσο ποσοι ποτε που προσ πωσ σασ σε "
        "στα στη στην στισ στο στον στουσ τα τη την τησ τι τισ το τον του τουσ των υπο ωσ"
    ),
    "arabic": (
        "اذا الا التي الذي الذين الى ام ان انا انه انها او اي ايضا اين بعد بعض به بها بين تلك تم ثم حتى حول "
        "حيث خلال ذلك على عليه عن عند غير فقط في فيه فيها قبل قد كان كانت كل كم كما كيف لا لكن لم لماذا لن "
        "له لها ما ماذا متى مع من منذ منه منها هذا هذه هل هم هو هي و وكان وهو وهي يكون"
    ),
    "hebrew": (
        "אבל או אותה אותו אז אחד אחרי אי איזה איזו איך אילו אין איפה אך אל אלה אם אני את אתה בין בלי גם הוא "
        "היא היה היו הם זאת זה זו יש כאשר כי כיצד כל כמה כמו לא לאן למה לפני מאוד מדוע מה מהו מהי מי מתי על "
        "עם של שם"
    ),
    "hindi": (
        "अपना अपनी अपने इस इसका इसके इसे उन उनका उनके उस उसके एक ऐसा और कब कर करता करते करना करने कहा कहाँ "
        "का कि कितना कितनी कितने किया किस किसका किसके किसने किसे की कुछ के को कोई कौन कौनसा क्या क्यों गई "
        "गए गया जब जा जाता जाती जाते जिस जो तक तब तो था थी थे द्वारा नहीं ने पर भी मुझे में मेरा मैं यह या "
        "ये रहा रहे लिए वह वे सकता सकते साथ से हम ही हुआ हुई हुए है हैं हो होता होती होने"
    ),
    "vietnamese": (
        "ai bang bao bi boi cac cai can cho co con cua cung da dang de den di do duoc gi hay la lai lam nao "
        "nay neu nhieu nhu nhung o qua ra rang roi sao se tai the thi trong tu va vao ve vi voi"
    ),
    "indonesian": (
        "ada adalah agar akan aku anda apa apakah atau bagaimana bagi bahwa banyak bisa dalam dan dapat "
        "dari dengan di dia dimana ini itu juga kami kapan kapankah karena ke kepada kita lebih mana "
        "mengapa mereka oleh pada para saya sebagai sebuah secara siapa telah tentang tidak untuk yaitu "
        "yang"
    ),
    "hungarian": (
        "a ahol aki akkor amely ami az azt be csak de egy el en es ez ezt fel ha hanem hany hogy hogyan hol "
        "honnan ide igen is itt jol kell ki le legyen lehet maga mar meg melyik mert mi miert mikor milyen "
        "mint mit mod nagyon nem nincs o oda os ott s sem szamara tud ugy vagy van vannak volt voltak"
    ),
    "czech": (
        "a aby aj ale ani ano asi az bez bude budou by byl byla byli bylo byt co coz do ho i ja jak jaka "
        "jake jako jaky je jeho jej jeji jejich jen jeste ji jiz jsem jsme jsou k kam kde kdo kdy kdyz ke "
        "ktera ktere kteri ktery ma mezi mi mit moje muj muze na nad nam ne nebo neni nez o od on ona oni "
        "po pod podle pokud pred pres pri pro proc proto s se si sve svuj ta tak take tam te ten tento to "
        "tom tu ty u uz v ve vsak z za ze"
    ),
}
"""Function words by language, under the name of its Snowball stemmer if there is one."""

WORDS: Final = {language: frozenset(words.split()) for language, words in LISTS.items()}

_GRAM_LISTS: Final = {
    "chinese": (
        "什么 甚么 怎么 怎样 如何 哪里 哪个 哪些 哪一 为什 为何 是否 是什 多少 可以 我的 我们 一个 这个 "
        "那个 什麼 怎麼 怎樣 哪裡 哪個 為什 為何 我們 一個 這個 那個 的 了 是 在 和 与 吗 呢 么 麼 嗎"
    ),
    "japanese": (
        "です ます ませ せん した する して され れる いる ある こと もの ため どの どこ どう なに なぜ "
        "いつ だれ これ それ この その から まで より ので のは のか には では とは うか ょう でし しょ "
        "ですか は が の を に で と か"
    ),
    "korean": (
        "무엇 엇을 엇이 어떻 떻게 어떤 어디 언제 누구 누가 얼마 왜 그리 리고 하는 있는 에서 으로 합니 니까 "
        "니다 입니 습니 인가 가요 나요 은 는 이 가 을 를 의 에 도"
    ),
    "thai": "อะไร ที่ไ ไหน ใคร เป็น และ ของ คือ หรือ ได้ ไม่ ให้ จาก เท่า เมื่ ทำไม",
}

GRAMS: Final = frozenset(gram for grams in _GRAM_LISTS.values() for gram in grams.split())
"""The same for scripts without spaces, as the units of `question`: such a unit belongs to only one language,
so the question's language need not be known."""


_LIGHT_WORDS: Final = (
    "able above across actually again ago allow allows almost alone along already always another anybody "
    "anymore anyway anywhere appear appears around aside ask asked asks away back bad become becomes "
    "begin behind below best better big bit bring brings brought call called came case certain certainly "
    "chance choose chosen clear clearly close come comes coming common complete correct current "
    "currently day days deal decide different difficult directly down easily easy end ends enough entire "
    "especially even eventually everybody everyone everything everywhere exact exactly example except "
    "exist exists expect far fast feel felt find finds first found full fully further general generally "
    "gone good great half happen happened happens hard hardly held help helps hence high hold idea ideas "
    "important inside instead interesting keep keeps kept kind kinds large last late later latest latter "
    "least leave leaves less let lets like likely little long longer look looking looks lot lots low "
    "made main mainly maybe mean meaning means meant mind mine moment mostly near nearly neither never "
    "new next nice nobody none normal normally nothing now obvious obviously often ok okay old older "
    "opposite otherwise outside part particular past perfect perhaps plenty possible possibly prefer "
    "pretty probably properly put puts quick quickly quite rather reach real really reason recent "
    "recently regular related relevant remain said saw say says second see seeing seem seems seen self "
    "several short show showing shown shows similar simple simply since single small smaller somehow "
    "sometimes somewhat somewhere soon special specific stay stays still straight stuff suddenly suggest "
    "suppose sure take taken takes taking talk tend thank thanks think third thought three thus times "
    "today together told took toward towards tried tries true try trying twice two understand unless "
    "used useful usual usually various via wanted wants watch week well went whatever whenever wherever "
    "whichever whoever whole wide wish wonder wrong year years yes yesterday yet"
)

LIGHT: Final = frozenset(_LIGHT_WORDS.split())
"""Common verbs, adverbs and adjectives of English, which fit any subject: sharing one with a question says
little, however rare it is in the vault. Lists for other languages brought no improvement."""


MARKERS: Final = {
    "english": ("the", "of", "is"),
    "german": ("und", "der", "ist"),
    "french": ("les", "des", "est"),
    "spanish": ("los", "una", "que"),
    "italian": ("che", "della", "sono"),
    "portuguese": ("nao", "uma", "para"),
    "dutch": ("het", "een", "van"),
    "swedish": ("och", "att", "inte"),
    "danish": ("og", "ikke", "jeg"),
    "finnish": ("ja", "ei", "etta"),
    "russian": ("и", "не", "что"),
    "ukrainian": ("і", "та", "що"),
    "polish": ("sie", "jest", "nie"),
    "romanian": ("si", "este", "pentru"),
    "turkish": ("ve", "bir", "icin"),
    "greek": ("και", "το", "ειναι"),
    "arabic": ("في", "من", "على"),
    "hebrew": ("של", "את", "על"),
    "hindi": ("है", "के", "में"),
    "vietnamese": ("cua", "duoc", "nhung"),
    "indonesian": ("yang", "dan", "dengan"),
    "hungarian": ("hogy", "egy", "nem"),
    "czech": ("je", "jsou", "pro"),
}
"""Words that nearly every page of a language contains, from which the language of a vault is detected."""


def choose_language(words: list[str], usual: str) -> str:
    """Returns the language of a question: the one with most of its words in the list. `usual` is the
    vault's language, which one foreign-looking word does not outweigh: "war" is German for "was"."""
    counts = {language: sum(word in known for word in words) for language, known in WORDS.items()}
    best = max(counts, key=lambda language: (counts[language], language == usual))
    # A word in another script cannot be mistaken for one of the vault's language.
    least = 1 if any(word.isascii() for word in words if word in WORDS[best]) else 0
    return best if counts[best] > counts.get(usual, 0) + least or not usual else usual


def detect_language(words: set[str]) -> str:
    """Returns the language with most of the words of a text in its list, "" if none has any."""
    counts = {language: len(words & known) for language, known in WORDS.items()}
    best = max(counts, key=lambda language: counts[language])
    return best if counts[best] else ""
