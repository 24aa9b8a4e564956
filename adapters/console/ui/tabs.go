package ui

import (
	"net/http"
	"net/url"
	"slices"
)

// TabParam is the query parameter that selects a tab of a page.
const TabParam = "tab"

// Tab is a tab of a page.
type Tab struct {
	Key  string      // its value of TabParam
	Text string      // its label
	Body func() Node // called only if the tab is selected
}

// TabPath returns the path of a tab of the page at that path, which may have a query.
func TabPath(page, key string) string {
	u, err := url.Parse(page)
	if err != nil || key == "" {
		return page
	}
	q := u.Query()
	q.Set(TabParam, key)
	u.RawQuery = q.Encode()
	return u.String()
}

// Tabbed returns a tab bar and the body of the tab that the request selects; the first one by default. page is the path of the page, and name describes
// the tabs. The link of the first tab is the path itself. Tabs without a Body are left out.
func Tabbed(r *http.Request, name, page string, tabs ...Tab) Node {
	tabs = slices.DeleteFunc(slices.Clone(tabs), func(t Tab) bool { return t.Body == nil })
	if len(tabs) == 0 {
		return nil
	}
	selected := max(0, slices.IndexFunc(tabs, func(t Tab) bool { return t.Key == r.URL.Query().Get(TabParam) }))
	links := make([]PageLink, len(tabs))
	for i, t := range tabs {
		links[i] = PageLink{Text: t.Text, Href: page}
		if i > 0 {
			links[i].Href = TabPath(page, t.Key)
		}
	}
	return Group{Tabs(name, links[selected].Href, links...), tabs[selected].Body()}
}

// DangerPanel returns a framed part for actions that are hard to undo. It is the last one of its page.
func DangerPanel(title string, body ...Node) Node {
	return Section(Class("panel hazard"), H2(TextNode(title)), Group(body))
}
