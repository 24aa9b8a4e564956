package ui

// A returns an element a.
func A(of ...Node) Node { return el("a", of...) }

// Article returns an element article.
func Article(of ...Node) Node { return el("article", of...) }

// BlockQuote returns an element blockquote.
func BlockQuote(of ...Node) Node { return el("blockquote", of...) }

// body returns an element body.
func body(of ...Node) Node { return el("body", of...) }

// Br returns an element br.
func Br(of ...Node) Node { return el("br", of...) }

// Button returns an element button.
func Button(of ...Node) Node { return el("button", of...) }

// Caption returns an element caption.
func Caption(of ...Node) Node { return el("caption", of...) }

// Code returns an element code.
func Code(of ...Node) Node { return el("code", of...) }

// DataList returns an element datalist.
func DataList(of ...Node) Node { return el("datalist", of...) }

// dd returns an element dd.
func dd(of ...Node) Node { return el("dd", of...) }

// Del returns an element del.
func Del(of ...Node) Node { return el("del", of...) }

// details returns an element details.
func details(of ...Node) Node { return el("details", of...) }

// Div returns an element div.
func Div(of ...Node) Node { return el("div", of...) }

// dl returns an element dl.
func dl(of ...Node) Node { return el("dl", of...) }

// dt returns an element dt.
func dt(of ...Node) Node { return el("dt", of...) }

// Em returns an element em.
func Em(of ...Node) Node { return el("em", of...) }

// FieldSet returns an element fieldset.
func FieldSet(of ...Node) Node { return el("fieldset", of...) }

// figCaption returns an element figcaption.
func figCaption(of ...Node) Node { return el("figcaption", of...) }

// figure returns an element figure.
func figure(of ...Node) Node { return el("figure", of...) }

// form returns an element form.
func form(of ...Node) Node { return el("form", of...) }

// h1 returns an element h1.
func h1(of ...Node) Node { return el("h1", of...) }

// H2 returns an element h2.
func H2(of ...Node) Node { return el("h2", of...) }

// H3 returns an element h3.
func H3(of ...Node) Node { return el("h3", of...) }

// H4 returns an element h4.
func H4(of ...Node) Node { return el("h4", of...) }

// H5 returns an element h5.
func H5(of ...Node) Node { return el("h5", of...) }

// H6 returns an element h6.
func H6(of ...Node) Node { return el("h6", of...) }

// Head returns an element head.
func Head(of ...Node) Node { return el("head", of...) }

// header returns an element header.
func header(of ...Node) Node { return el("header", of...) }

// Hr returns an element hr.
func Hr(of ...Node) Node { return el("hr", of...) }

// Html returns an element html.
func Html(of ...Node) Node { return el("html", of...) }

// Input returns an element input.
func Input(of ...Node) Node { return el("input", of...) }

// Label returns an element label.
func Label(of ...Node) Node { return el("label", of...) }

// Legend returns an element legend.
func Legend(of ...Node) Node { return el("legend", of...) }

// Li returns an element li.
func Li(of ...Node) Node { return el("li", of...) }

// link returns an element link.
func link(of ...Node) Node { return el("link", of...) }

// main returns an element main.
func main(of ...Node) Node { return el("main", of...) }

// meta returns an element meta.
func meta(of ...Node) Node { return el("meta", of...) }

// Nav returns an element nav.
func Nav(of ...Node) Node { return el("nav", of...) }

// Ol returns an element ol.
func Ol(of ...Node) Node { return el("ol", of...) }

// Option returns an element option.
func Option(of ...Node) Node { return el("option", of...) }

// P returns an element p.
func P(of ...Node) Node { return el("p", of...) }

// Pre returns an element pre.
func Pre(of ...Node) Node { return el("pre", of...) }

// Progress returns an element progress.
func Progress(of ...Node) Node { return el("progress", of...) }

// script returns an element script.
func script(of ...Node) Node { return el("script", of...) }

// Section returns an element section.
func Section(of ...Node) Node { return el("section", of...) }

// Select returns an element select.
func Select(of ...Node) Node { return el("select", of...) }

// Span returns an element span.
func Span(of ...Node) Node { return el("span", of...) }

// Strong returns an element strong.
func Strong(of ...Node) Node { return el("strong", of...) }

// summary returns an element summary.
func summary(of ...Node) Node { return el("summary", of...) }

// TBody returns an element tbody.
func TBody(of ...Node) Node { return el("tbody", of...) }

// THead returns an element thead.
func THead(of ...Node) Node { return el("thead", of...) }

// Table returns an element table.
func Table(of ...Node) Node { return el("table", of...) }

// Td returns an element td.
func Td(of ...Node) Node { return el("td", of...) }

// textarea returns an element textarea.
func textarea(of ...Node) Node { return el("textarea", of...) }

// Th returns an element th.
func Th(of ...Node) Node { return el("th", of...) }

// Time returns an element time.
func Time(of ...Node) Node { return el("time", of...) }

// titleEl returns an element title.
func titleEl(of ...Node) Node { return el("title", of...) }

// Tr returns an element tr.
func Tr(of ...Node) Node { return el("tr", of...) }

// Ul returns an element ul.
func Ul(of ...Node) Node { return el("ul", of...) }

// Action returns the attribute action.
func Action(v string) Node { return Attr("action", v) }

// autoComplete returns the attribute autocomplete.
func autoComplete(v string) Node { return Attr("autocomplete", v) }

// charset returns the attribute charset.
func charset(v string) Node { return Attr("charset", v) }

// Class returns the attribute class.
func Class(v string) Node { return Attr("class", v) }

// Content returns the attribute content.
func Content(v string) Node { return Attr("content", v) }

// dateTime returns the attribute datetime.
func dateTime(v string) Node { return Attr("datetime", v) }

// For returns the attribute for.
func For(v string) Node { return Attr("for", v) }

// Href returns the attribute href.
func Href(v string) Node { return Attr("href", v) }

// ID returns the attribute id.
func ID(v string) Node { return Attr("id", v) }

// Lang returns the attribute lang.
func Lang(v string) Node { return Attr("lang", v) }

// List returns the attribute list.
func List(v string) Node { return Attr("list", v) }

// Max returns the attribute max.
func Max(v string) Node { return Attr("max", v) }

// MaxLength returns the attribute maxlength.
func MaxLength(v string) Node { return Attr("maxlength", v) }

// method returns the attribute method.
func method(v string) Node { return Attr("method", v) }

// Name returns the attribute name.
func Name(v string) Node { return Attr("name", v) }

// Rel returns the attribute rel.
func Rel(v string) Node { return Attr("rel", v) }

// Role returns the attribute role.
func Role(v string) Node { return Attr("role", v) }

// rows returns the attribute rows.
func rows(v string) Node { return Attr("rows", v) }

// Scope returns the attribute scope.
func Scope(v string) Node { return Attr("scope", v) }

// src returns the attribute src.
func src(v string) Node { return Attr("src", v) }

// TabIndex returns the attribute tabindex.
func TabIndex(v string) Node { return Attr("tabindex", v) }

// titleAttr returns the attribute title.
func titleAttr(v string) Node { return Attr("title", v) }

// Type returns the attribute type.
func Type(v string) Node { return Attr("type", v) }

// Value returns the attribute value.
func Value(v string) Node { return Attr("value", v) }

// checked returns the attribute checked, which has no value.
func checked() Node { return Attr("checked") }

// Defer returns the attribute defer, which has no value.
func Defer() Node { return Attr("defer") }

// Required returns the attribute required, which has no value.
func Required() Node { return Attr("required") }

// selected returns the attribute selected, which has no value.
func selected() Node { return Attr("selected") }

// Aria returns the attribute aria-NAME.
func Aria(name, v string) Node { return Attr("aria-"+name, v) }

// Data returns the attribute data-NAME.
func Data(name, v string) Node { return Attr("data-"+name, v) }
