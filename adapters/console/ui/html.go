package ui

// A is an element a.
func A(of ...Node) Node { return el("a", of...) }

// Article is an element article.
func Article(of ...Node) Node { return el("article", of...) }

// BlockQuote is an element blockquote.
func BlockQuote(of ...Node) Node { return el("blockquote", of...) }

// body is an element body.
func body(of ...Node) Node { return el("body", of...) }

// Br is an element br.
func Br(of ...Node) Node { return el("br", of...) }

// Button is an element button.
func Button(of ...Node) Node { return el("button", of...) }

// Caption is an element caption.
func Caption(of ...Node) Node { return el("caption", of...) }

// Code is an element code.
func Code(of ...Node) Node { return el("code", of...) }

// DataList is an element datalist.
func DataList(of ...Node) Node { return el("datalist", of...) }

// dd is an element dd.
func dd(of ...Node) Node { return el("dd", of...) }

// Del is an element del.
func Del(of ...Node) Node { return el("del", of...) }

// details is an element details.
func details(of ...Node) Node { return el("details", of...) }

// Div is an element div.
func Div(of ...Node) Node { return el("div", of...) }

// dl is an element dl.
func dl(of ...Node) Node { return el("dl", of...) }

// dt is an element dt.
func dt(of ...Node) Node { return el("dt", of...) }

// Em is an element em.
func Em(of ...Node) Node { return el("em", of...) }

// FieldSet is an element fieldset.
func FieldSet(of ...Node) Node { return el("fieldset", of...) }

// figCaption is an element figcaption.
func figCaption(of ...Node) Node { return el("figcaption", of...) }

// figure is an element figure.
func figure(of ...Node) Node { return el("figure", of...) }

// form is an element form.
func form(of ...Node) Node { return el("form", of...) }

// h1 is an element h1.
func h1(of ...Node) Node { return el("h1", of...) }

// H2 is an element h2.
func H2(of ...Node) Node { return el("h2", of...) }

// H3 is an element h3.
func H3(of ...Node) Node { return el("h3", of...) }

// H4 is an element h4.
func H4(of ...Node) Node { return el("h4", of...) }

// H5 is an element h5.
func H5(of ...Node) Node { return el("h5", of...) }

// H6 is an element h6.
func H6(of ...Node) Node { return el("h6", of...) }

// Head is an element head.
func Head(of ...Node) Node { return el("head", of...) }

// header is an element header.
func header(of ...Node) Node { return el("header", of...) }

// Hr is an element hr.
func Hr(of ...Node) Node { return el("hr", of...) }

// Html is an element html.
func Html(of ...Node) Node { return el("html", of...) }

// Input is an element input.
func Input(of ...Node) Node { return el("input", of...) }

// Label is an element label.
func Label(of ...Node) Node { return el("label", of...) }

// Legend is an element legend.
func Legend(of ...Node) Node { return el("legend", of...) }

// Li is an element li.
func Li(of ...Node) Node { return el("li", of...) }

// link is an element link.
func link(of ...Node) Node { return el("link", of...) }

// main is an element main.
func main(of ...Node) Node { return el("main", of...) }

// meta is an element meta.
func meta(of ...Node) Node { return el("meta", of...) }

// Nav is an element nav.
func Nav(of ...Node) Node { return el("nav", of...) }

// Ol is an element ol.
func Ol(of ...Node) Node { return el("ol", of...) }

// Option is an element option.
func Option(of ...Node) Node { return el("option", of...) }

// P is an element p.
func P(of ...Node) Node { return el("p", of...) }

// Pre is an element pre.
func Pre(of ...Node) Node { return el("pre", of...) }

// Progress is an element progress.
func Progress(of ...Node) Node { return el("progress", of...) }

// script is an element script.
func script(of ...Node) Node { return el("script", of...) }

// Section is an element section.
func Section(of ...Node) Node { return el("section", of...) }

// Select is an element select.
func Select(of ...Node) Node { return el("select", of...) }

// Span is an element span.
func Span(of ...Node) Node { return el("span", of...) }

// Strong is an element strong.
func Strong(of ...Node) Node { return el("strong", of...) }

// summary is an element summary.
func summary(of ...Node) Node { return el("summary", of...) }

// TBody is an element tbody.
func TBody(of ...Node) Node { return el("tbody", of...) }

// THead is an element thead.
func THead(of ...Node) Node { return el("thead", of...) }

// Table is an element table.
func Table(of ...Node) Node { return el("table", of...) }

// Td is an element td.
func Td(of ...Node) Node { return el("td", of...) }

// textarea is an element textarea.
func textarea(of ...Node) Node { return el("textarea", of...) }

// Th is an element th.
func Th(of ...Node) Node { return el("th", of...) }

// Time is an element time.
func Time(of ...Node) Node { return el("time", of...) }

// titleEl is an element title.
func titleEl(of ...Node) Node { return el("title", of...) }

// Tr is an element tr.
func Tr(of ...Node) Node { return el("tr", of...) }

// Ul is an element ul.
func Ul(of ...Node) Node { return el("ul", of...) }

// Action is the attribute action.
func Action(v string) Node { return Attr("action", v) }

// autoComplete is the attribute autocomplete.
func autoComplete(v string) Node { return Attr("autocomplete", v) }

// charset is the attribute charset.
func charset(v string) Node { return Attr("charset", v) }

// Class is the attribute class.
func Class(v string) Node { return Attr("class", v) }

// Content is the attribute content.
func Content(v string) Node { return Attr("content", v) }

// dateTime is the attribute datetime.
func dateTime(v string) Node { return Attr("datetime", v) }

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

// method is the attribute method.
func method(v string) Node { return Attr("method", v) }

// Name is the attribute name.
func Name(v string) Node { return Attr("name", v) }

// Rel is the attribute rel.
func Rel(v string) Node { return Attr("rel", v) }

// Role is the attribute role.
func Role(v string) Node { return Attr("role", v) }

// rows is the attribute rows.
func rows(v string) Node { return Attr("rows", v) }

// Scope is the attribute scope.
func Scope(v string) Node { return Attr("scope", v) }

// src is the attribute src.
func src(v string) Node { return Attr("src", v) }

// TabIndex is the attribute tabindex.
func TabIndex(v string) Node { return Attr("tabindex", v) }

// titleAttr is the attribute title.
func titleAttr(v string) Node { return Attr("title", v) }

// Type is the attribute type.
func Type(v string) Node { return Attr("type", v) }

// Value is the attribute value.
func Value(v string) Node { return Attr("value", v) }

// checked is the attribute checked, which has no value.
func checked() Node { return Attr("checked") }

// Defer is the attribute defer, which has no value.
func Defer() Node { return Attr("defer") }

// Required is the attribute required, which has no value.
func Required() Node { return Attr("required") }

// selected is the attribute selected, which has no value.
func selected() Node { return Attr("selected") }

// Aria is the attribute aria-NAME.
func Aria(name, v string) Node { return Attr("aria-"+name, v) }

// Data is the attribute data-NAME.
func Data(name, v string) Node { return Attr("data-"+name, v) }
