package gitcli

import (
	"regexp"
	"sync"
)

// The places in a URL that hold secrets: what stands between :// and the last @ before a slash, and what follows a question mark.
// Over ssh a bare user name is none, and it tells people which key was asked for.
var (
	userForm  = lazy(`(?i)\b([a-z][a-z0-9+.-]*://)[^/\s'"]*@`)
	sshForm   = lazy(`(?i)\b((?:git\+)?ssh(?:\+git)?://[a-z0-9_][a-z0-9_.-]*@)`)
	queryForm = lazy(`(?i)\b([a-z][a-z0-9+.-]*://[^\s'"?]*\?)[^\s'"]+`)
)

// lazy compiles an expression when it is first asked for: most processes start no git.
func lazy(form string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(form) })
}

// Mask is text without the passwords and tokens of the URLs in it.
func Mask(text string) string {
	text = userForm().ReplaceAllStringFunc(text, func(found string) string {
		if sshForm().FindString(found) == found {
			return found
		}
		return userForm().ReplaceAllString(found, "${1}***@")
	})
	return queryForm().ReplaceAllString(text, "${1}***")
}
