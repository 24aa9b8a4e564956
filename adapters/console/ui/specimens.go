package ui

import (
	"net/http"
	"time"

	"github.com/countersign-dev/countersign/adapters/httpauth"
)

// SpecimensPath is the path of the page that shows every element pages are made of. Nothing links to it but the list of all pages.
const SpecimensPath = "/ui"

// Specimens answers with a page of every element, so that a change of the style is looked at in one place. It makes no call.
func Specimens(w http.ResponseWriter, _ *http.Request, v httpauth.Identity) {
	Page{Title: "Elements of these pages", Body: []Node{
		P(Class("quiet"), TextNode("Every element that pages of this console are made of. Nothing here does anything.")),
		Part("Buttons", Div(Class("buttons"),
			Button(Type("button"), TextNode("Plain")), Primary("Primary", Type("button")), Button(Type("button"), Class("go"), TextNode("Approve")),
			Button(Type("button"), Class("danger"), TextNode("Deny")), Button(Type("button"), Class("quiet"), TextNode("Quiet")),
			Button(Type("button"), Attr("disabled"), TextNode("Disabled")), Button(Type("button"), Aria("pressed", "true"), TextNode("Switched on")), ButtonLink("#main", "A link"))),
		Part("Badges", P(Risk("low"), TextNode(" "), Risk("medium"), TextNode(" "), Risk("high")),
			P(Badge(Plain, "runs"), TextNode(" "), Badge(Good, "done"), TextNode(" "), Badge(Warn, "waits for a person"), TextNode(" "), Badge(Bad, "failed"))),
		Part("Notices", Notice(Plain, P(TextNode("It runs. This page follows it."))), Notice(Good, P(TextNode("Done. "), LinkTo("#main", "See what came of it"))),
			Notice(Warn, P(TextNode("Nobody is asked."))), Div(Class("notice bad"), P(TextNode("The plan has changed.")), P(Class("quiet"), TextNode("code plan_stale")))),
		Part("Cards", Div(Class("grid"),
			Panel("A panel", P(TextNode("What belongs together, beside other panels where there is room.")), P(LinkTo("#main", "Where it leads"))),
			Panel("Facts", Facts(Fact{"Asked by", TextNode("claude-code/2.1")}, Fact{"Tool", InlineCode("run_script")}, Fact{"Expires", When(time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC))})),
			Panel("Nothing there", Empty("Nothing waits.")))),
		Part("Tabs", Tabs("Parts of an example", SpecimensPath, PageLink{"Overview", SpecimensPath}, PageLink{"Runs", "#main"}, PageLink{"Releases", "#said"})),
		Part("Graphs", Graph("steps of an example", []GraphNode{{Text: "install", Note: "Completed, 4.2s", Tone: Good, Href: "#main"}, {Text: "lint", Note: "Completed, 1.1s", Tone: Good, After: []int{0}},
			{Text: "test", Note: "Running", Tone: Warn, After: []int{0}}, {Text: "publish", Note: "Pending", Tone: Plain, After: []int{1, 2}}})),
		Part("Danger", DangerPanel("Delete example", P(TextNode("The actions that are hard to undo are the last part of a page.")), Div(Class("buttons"), Button(Type("button"), Class("danger"), TextNode("Delete"))))),
		Part("Tables", DataTable("A table", []string{"When", "What", "Status"}, []Node{
			Row(TextNode("09:00"), LinkTo("#main", "run npm test in shop"), Badge(Good, "done")),
			Row(TextNode("09:02"), LinkTo("#main", "delete three files of shop"), Badge(Bad, "failed"))}, "")),
		Part("Nothing to show", Empty("No pending approvals. When an agent proposes something that needs your approval, it appears here by itself.")),
		Part("Forms", Field("specimen-text", "text", "A text", "shop"), TextareaField("specimen-lines", "lines", "Several lines", "one\ntwo"),
			SelectField("specimen-choice", "choice", "A choice", "b", Choice{"a", "one"}, Choice{"b", "the other"}), CheckboxField("specimen-tick", "tick", "A tick", true)),
		Part("Changes and code", Diff("lines of config.json", "--- a/config.json\n+++ b/config.json\n@@ -1,3 +1,3 @@\n {\n-  \"port\": 8080,\n+  \"port\": 9090,\n }\n"),
			CodeBlock("a command", "npm test"), Disclosure("More of it", false, P(TextNode("What is a key away.")))),
		Part("Keys", P(Key("j"), TextNode(" next "), Key("k"), TextNode(" previous"))),
		Part("Passing messages", P(TextNode("What just happened is said at the lower edge for a while.")), Div(Class("toast still"), TextNode("One approval waits for you."))),
	}}.Write(w, http.StatusOK, v)
}
