package ui

// A is an element a.
func A(of ...Node) Node { return El("a", of...) }

// Article is an element article.
func Article(of ...Node) Node { return El("article", of...) }

// BlockQuote is an element blockquote.
func BlockQuote(of ...Node) Node { return El("blockquote", of...) }

// Body is an element body.
func Body(of ...Node) Node { return El("body", of...) }

// Br is an element br.
func Br(of ...Node) Node { return El("br", of...) }

// Button is an element button.
func Button(of ...Node) Node { return El("button", of...) }

// Caption is an element caption.
func Caption(of ...Node) Node { return El("caption", of...) }

// Code is an element code.
func Code(of ...Node) Node { return El("code", of...) }

// DataList is an element datalist.
func DataList(of ...Node) Node { return El("datalist", of...) }

// Dd is an element dd.
func Dd(of ...Node) Node { return El("dd", of...) }

// Del is an element del.
func Del(of ...Node) Node { return El("del", of...) }

// Details is an element details.
func Details(of ...Node) Node { return El("details", of...) }

// Div is an element div.
func Div(of ...Node) Node { return El("div", of...) }

// Dl is an element dl.
func Dl(of ...Node) Node { return El("dl", of...) }

// Dt is an element dt.
func Dt(of ...Node) Node { return El("dt", of...) }

// Em is an element em.
func Em(of ...Node) Node { return El("em", of...) }

// FieldSet is an element fieldset.
func FieldSet(of ...Node) Node { return El("fieldset", of...) }

// FigCaption is an element figcaption.
func FigCaption(of ...Node) Node { return El("figcaption", of...) }

// Figure is an element figure.
func Figure(of ...Node) Node { return El("figure", of...) }

// Form is an element form.
func Form(of ...Node) Node { return El("form", of...) }

// H1 is an element h1.
func H1(of ...Node) Node { return El("h1", of...) }

// H2 is an element h2.
func H2(of ...Node) Node { return El("h2", of...) }

// H3 is an element h3.
func H3(of ...Node) Node { return El("h3", of...) }

// H4 is an element h4.
func H4(of ...Node) Node { return El("h4", of...) }

// H5 is an element h5.
func H5(of ...Node) Node { return El("h5", of...) }

// H6 is an element h6.
func H6(of ...Node) Node { return El("h6", of...) }

// Head is an element head.
func Head(of ...Node) Node { return El("head", of...) }

// Header is an element header.
func Header(of ...Node) Node { return El("header", of...) }

// Hr is an element hr.
func Hr(of ...Node) Node { return El("hr", of...) }

// Html is an element html.
func Html(of ...Node) Node { return El("html", of...) }

// Input is an element input.
func Input(of ...Node) Node { return El("input", of...) }

// Label is an element label.
func Label(of ...Node) Node { return El("label", of...) }

// Legend is an element legend.
func Legend(of ...Node) Node { return El("legend", of...) }

// Li is an element li.
func Li(of ...Node) Node { return El("li", of...) }

// Link is an element link.
func Link(of ...Node) Node { return El("link", of...) }

// Main is an element main.
func Main(of ...Node) Node { return El("main", of...) }

// Meta is an element meta.
func Meta(of ...Node) Node { return El("meta", of...) }

// Nav is an element nav.
func Nav(of ...Node) Node { return El("nav", of...) }

// Ol is an element ol.
func Ol(of ...Node) Node { return El("ol", of...) }

// Option is an element option.
func Option(of ...Node) Node { return El("option", of...) }

// P is an element p.
func P(of ...Node) Node { return El("p", of...) }

// Pre is an element pre.
func Pre(of ...Node) Node { return El("pre", of...) }

// Progress is an element progress.
func Progress(of ...Node) Node { return El("progress", of...) }

// Script is an element script.
func Script(of ...Node) Node { return El("script", of...) }

// Section is an element section.
func Section(of ...Node) Node { return El("section", of...) }

// Select is an element select.
func Select(of ...Node) Node { return El("select", of...) }

// Span is an element span.
func Span(of ...Node) Node { return El("span", of...) }

// Strong is an element strong.
func Strong(of ...Node) Node { return El("strong", of...) }

// Summary is an element summary.
func Summary(of ...Node) Node { return El("summary", of...) }

// TBody is an element tbody.
func TBody(of ...Node) Node { return El("tbody", of...) }

// THead is an element thead.
func THead(of ...Node) Node { return El("thead", of...) }

// Table is an element table.
func Table(of ...Node) Node { return El("table", of...) }

// Td is an element td.
func Td(of ...Node) Node { return El("td", of...) }

// Textarea is an element textarea.
func Textarea(of ...Node) Node { return El("textarea", of...) }

// Th is an element th.
func Th(of ...Node) Node { return El("th", of...) }

// Time is an element time.
func Time(of ...Node) Node { return El("time", of...) }

// TitleEl is an element title.
func TitleEl(of ...Node) Node { return El("title", of...) }

// Tr is an element tr.
func Tr(of ...Node) Node { return El("tr", of...) }

// Ul is an element ul.
func Ul(of ...Node) Node { return El("ul", of...) }

// Action is the attribute action.
func Action(v string) Node { return Attr("action", v) }

// AutoComplete is the attribute autocomplete.
func AutoComplete(v string) Node { return Attr("autocomplete", v) }

// Charset is the attribute charset.
func Charset(v string) Node { return Attr("charset", v) }

// Class is the attribute class.
func Class(v string) Node { return Attr("class", v) }

// Content is the attribute content.
func Content(v string) Node { return Attr("content", v) }

// DateTime is the attribute datetime.
func DateTime(v string) Node { return Attr("datetime", v) }

// For is the attribute for.
func For(v string) Node { return Attr("for", v) }

// Href is the attribute href.
func Href(v string) Node { return Attr("href", v) }

// ID is the attribute id.
func ID(v string) Node { return Attr("id", v) }

// Lang is the attribute lang.
func Lang(v string) Node { return Attr("lang", v) }

// List is the attribute list.
func List(v string) Node { return Attr("list", v) }

// Max is the attribute max.
func Max(v string) Node { return Attr("max", v) }

// MaxLength is the attribute maxlength.
func MaxLength(v string) Node { return Attr("maxlength", v) }

// Method is the attribute method.
func Method(v string) Node { return Attr("method", v) }

// Name is the attribute name.
func Name(v string) Node { return Attr("name", v) }

// Rel is the attribute rel.
func Rel(v string) Node { return Attr("rel", v) }

// Role is the attribute role.
func Role(v string) Node { return Attr("role", v) }

// Rows is the attribute rows.
func Rows(v string) Node { return Attr("rows", v) }

// Scope is the attribute scope.
func Scope(v string) Node { return Attr("scope", v) }

// Src is the attribute src.
func Src(v string) Node { return Attr("src", v) }

// TabIndex is the attribute tabindex.
func TabIndex(v string) Node { return Attr("tabindex", v) }

// TitleAttr is the attribute title.
func TitleAttr(v string) Node { return Attr("title", v) }

// Type is the attribute type.
func Type(v string) Node { return Attr("type", v) }

// Value is the attribute value.
func Value(v string) Node { return Attr("value", v) }

// AutoFocus is the attribute autofocus, which has no value.
func AutoFocus() Node { return Attr("autofocus") }

// Checked is the attribute checked, which has no value.
func Checked() Node { return Attr("checked") }

// Defer is the attribute defer, which has no value.
func Defer() Node { return Attr("defer") }

// Required is the attribute required, which has no value.
func Required() Node { return Attr("required") }

// Selected is the attribute selected, which has no value.
func Selected() Node { return Attr("selected") }

// Aria is the attribute aria-NAME.
func Aria(name, v string) Node { return Attr("aria-"+name, v) }

// Data is the attribute data-NAME.
func Data(name, v string) Node { return Attr("data-"+name, v) }
