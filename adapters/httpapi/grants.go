package httpapi

import (
	"net/http"
	"slices"

	"github.com/countersign-dev/countersign/domain/confirm"
	"github.com/countersign-dev/countersign/domain/tool"
)

// seen reports whether this client may see the tool: one whose credential covers only some tools sees only those.
func (a *API) seen(x *Exchange, name string) bool {
	spec, ok := a.App.Spec(tool.Name(name))
	return len(x.Visitor.Within) == 0 || ok && tool.Covered(x.Visitor.Within, spec)
}

func (a *API) listGrants(x *Exchange) error {
	all, err := a.App.SessionGrants(x.R.Context())
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(g confirm.ListedGrant) bool { return !a.seen(x, g.Tool) })
	x.Answer(http.StatusOK, confirm.ListGrants(all))
	return nil
}

// revokeGrant ends a grant from the next call on, and answers with it.
func (a *API) revokeGrant(x *Exchange) error {
	if !x.Visitor.Person {
		return ErrPerson.WithMessage("access tokens cannot revoke grants; the user revokes them in the console or with countersign grants revoke %s", Shorten(x.Name))
	}
	ended, err := a.App.RevokeSessionGrant(x.R.Context(), x.Name, by(x))
	if err != nil {
		return err
	}
	x.Answer(http.StatusOK, ended)
	return nil
}
