from __future__ import annotations
import base64
from datetime import timedelta
from tasks.assistant import Assistant
from tasks.vault import *
P="obsidian_"
def c(a,t,**k): return a.call(P+t,**k)
def mentions(a):
    r=c(a,"related",name="Solar kiln")
    import re,json
    ops=[json.loads(m) for m in re.findall(r'edit_note (\{.*\})',r)]
    ops=[o for o in ops if o["op"]=="replace_text"]
    return c(a,"batch",operations=ops)
def replace(a):
    r=c(a,"search",query='"Acme Corp"',matches=0)
    r2=c(a,"search",query='"Acme Corp"',matches=0,offset=20) if 'continue' in r else ''
    return c(a,"batch",operations=[{"op":"replace_text","name":f"Contracts/{n}.md","old":"Acme Corp","new":"Acme Inc","all":True} for n in REPLACED])
def image(a):
    c(a,"add_attachment",name="roof.png",data=base64.b64encode(PICTURE).decode(),note="House")
    c(a,"edit_note",op="append",name="House",content="![[roof.png]]")
def extract(a):
    c(a,"read_note",name="Mountain hut",heading="Routes")
    c(a,"create_note",name="Projects/Routes",content=ROUTES+"\n")
    c(a,"edit_note",op="replace_section",name="Mountain hut",heading="Routes",content="[[Routes]]\n")
def tick(a):
    c(a,"tasks",status="open",due_before=str(TODAY),due_after=str(TODAY))
    c(a,"edit_note",op="set_task",name="Home/Bills.md",line=4,status="done")
def prep(a): c(a,"edit_note",op="replace_section",name="Mountain hut",heading="Routes",content="Gone.")
WAYS={
"decide":lambda a:c(a,"context",question="What did we decide about syncing, and why?"),
"task today":lambda a:c(a,"write_daily_note",content="- [ ] call the mason",heading="Tasks"),
"rename project":lambda a:c(a,"move_note",name="Atlas",to="Compass"),
"move by tag":lambda a:c(a,"move_note",query="tag:#done",to="Archive/"),
"merge":lambda a:c(a,"edit_note",op="merge",name="Ada",to="Ada Lund"),
"table":lambda a:c(a,"base_query",base='filters: file.hasTag("book") && rating >= 4\nviews:\n  - type: table\n    name: Best\n    order: [file.name, author, rating]\n'),
"last week":lambda a:c(a,"read_note",names=[f"Daily/{d}" for d in LAST_WEEK]),
"untagged":lambda a:c(a,"list_files",kind="untagged"),
"insert image":image,
"undo":lambda a:c(a,"undo"),
"from template":lambda a:c(a,"create_note",name="Meetings/Roof",template="Meeting Template"),
"append":lambda a:c(a,"edit_note",op="append",name="House",heading="Log",content="- fence painted"),
"replace in 12":replace,
"link mentions":mentions,
"backlinks":lambda a:c(a,"links",name="Harbour"),
"export":lambda a:c(a,"read_note",names=[f"Workshop/{n}" for n in EXPORTED]),
"tick due task":tick,
"rename tag":lambda a:c(a,"edit_note",op="rename_tag",tag="cooking",to="kitchen"),
"extract section":extract,
"recent notes":lambda a:c(a,"list_files",sort="modified"),
}
PREPARE={"undo":prep}
