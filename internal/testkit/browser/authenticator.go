package browser

import (
	"context"

	"github.com/chromedp/cdproto/webauthn"
	"github.com/chromedp/chromedp"
)

// Authenticator is one built into the page's machine, which is touched whenever it wants to be. Page.Authenticator makes it.
type Authenticator struct {
	page *Page
	id   webauthn.AuthenticatorID
}

// Authenticator gives the page an authenticator that verifies its user.
func (p *Page) Authenticator() *Authenticator {
	p.t.Helper()
	a := &Authenticator{page: p}
	p.call("authenticator", func(ctx context.Context) error {
		if _, err := chromedp.Call(ctx, webauthn.Enable, webauthn.EnableParams{}); err != nil {
			return err
		}
		made, err := chromedp.Call(ctx, webauthn.AddVirtualAuthenticator, webauthn.AddVirtualAuthenticatorParams{Options: &webauthn.VirtualAuthenticatorOptions{
			Protocol: webauthn.AuthenticatorProtocolCtap2, Ctap2version: webauthn.Ctap2versionCtap21, Transport: webauthn.AuthenticatorTransportInternal,
			HasResidentKey: true, HasUserVerification: true, IsUserVerified: true, AutomaticPresenceSimulation: true}})
		a.id = made.AuthenticatorID
		return err
	})
	return a
}

// Verifies has it verify its user from now on, or fail to.
func (a *Authenticator) Verifies(person bool) {
	a.page.t.Helper()
	a.page.call("verification", func(ctx context.Context) error {
		_, err := chromedp.Call(ctx, webauthn.SetUserVerified, webauthn.SetUserVerifiedParams{AuthenticatorID: a.id, IsUserVerified: person})
		return err
	})
}
