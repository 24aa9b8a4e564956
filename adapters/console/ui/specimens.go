package ui

import (
	"net/http"
	"time"

	"github.com/countersign-dev/countersign/adapters/httpauth"
)

// SpecimensPath is the path of the page that shows every element pages are made of. Only the search links to it.
const SpecimensPath = "/ui"

// Specimens answers with a page of every element, to review changes of the style in one place. It makes no call.
func Specimens(w http.ResponseWriter, _ *http.Request, v httpauth.Identity) {
	Page{Title: "Design elements", Body: []Node{
		P(Class("quiet"), TextNode("Every element of the console pages. The controls on this page have no effect.")),
		Part("Buttons", Div(Class("buttons"),
			Button(Type("button"), TextNode("Plain")), Primary("Primary", Type("button")), Button(Type("button"), Class("go"), TextNode("Approve")),
			Button(Type("button"), Class("danger"), TextNode("Deny")), Button(Type("button"), Class("quiet"), TextNode("Quiet")),
			Button(Type("button"), Attr("disabled"), TextNode("Disabled")), Button(Type("button"), Aria("pressed", "true"), TextNode("Pressed")), ButtonLink("#main", "A link"))),
		Part("Badges", P(Risk("low"), TextNode(" "), Risk("medium"), TextNode(" "), Risk("high")),
			P(Badge(Plain, "Running"), TextNode(" "), Badge(Good, "Completed"), TextNode(" "), Badge(Warn, "Waiting for approval"), TextNode(" "), Badge(Bad, "Failed"))),
		Part("Notices", Notice(Plain, P(TextNode("Running. You can leave this page; the call continues."))), Notice(Good, P(TextNode("Done. "), LinkTo("#main", "View result"))),
			Notice(Warn, P(TextNode("Approvals are disabled."))), Div(Class("notice bad"), P(TextNode("The plan changed.")), P(Class("quiet"), TextNode("code plan_stale")))),
		Part("Cards", Div(Class("grid"),
			Panel("A panel", P(TextNode("Panels are side by side on a wide page.")), P(LinkTo("#main", "View details"))),
			Panel("Facts", Facts(Fact{"Client", TextNode("claude-code/2.1")}, Fact{"Tool", InlineCode("run_script")}, Fact{"Expires", When(time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC))})),
			Panel("Empty panel", Empty("No pending approvals.")))),
		Part("Tabs", Tabs("Parts of an example", SpecimensPath, PageLink{"Overview", SpecimensPath}, PageLink{"Executions", "#main"}, PageLink{"Releases", "#said"})),
		Part("Graphs", Graph("steps of an example", []GraphNode{{Text: "install", Note: "Completed, 4.2s", Tone: Good, Href: "#main"}, {Text: "lint", Note: "Completed, 1.1s", Tone: Good, After: []int{0}},
			{Text: "test", Note: "Running", Tone: Warn, After: []int{0}}, {Text: "publish", Note: "Pending", Tone: Plain, After: []int{1, 2}}})),
		Part("Danger", DangerPanel("Delete example", P(TextNode("The actions that are hard to undo are the last part of a page.")), Div(Class("buttons"), Button(Type("button"), Class("danger"), TextNode("Delete"))))),
		Part("Tables", DataTable("A table", []string{"Requested", "Call", "Status"}, []Node{
			Row(TextNode("09:00"), LinkTo("#main", "run npm test in shop"), Badge(Good, "Completed")),
			Row(TextNode("09:02"), LinkTo("#main", "delete three files of shop"), Badge(Bad, "Failed"))}, "")),
		Part("Empty list", Empty("No pending approvals. New requests appear here automatically.")),
		Part("Forms", Field("specimen-text", "text", "Text field", "shop"), TextareaField("specimen-lines", "lines", "Text area", "one\ntwo"),
			SelectField("specimen-choice", "choice", "Selection", "b", Choice{"a", "one"}, Choice{"b", "two"}), CheckboxField("specimen-tick", "tick", "Checkbox", true)),
		Part("Changes and code", Diff("lines of config.json", "--- a/config.json\n+++ b/config.json\n@@ -1,3 +1,3 @@\n {\n-  \"port\": 8080,\n+  \"port\": 9090,\n }\n"),
			CodeBlock("a command", "npm test"), Disclosure("More details", false, P(TextNode("Collapsed content.")))),
		Part("Keys", P(Key("j"), TextNode(" next "), Key("k"), TextNode(" previous"))),
		Part("Messages", P(TextNode("Messages appear at the lower edge for 6 seconds.")), Div(Class("toast still"), TextNode("1 pending approval"))),
	}}.Write(w, http.StatusOK, v)
}
