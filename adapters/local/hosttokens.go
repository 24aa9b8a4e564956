package local

import (
	"context"
	"errors"
	"slices"

	"github.com/countersign-dev/countersign/adapters/httpauth"
	"github.com/countersign-dev/countersign/domain/access"
)

// Admission issues, lists and revokes credentials; *app.Credentials implements it.
type Admission interface {
	Issue(ctx context.Context, by string, c access.Credential) (access.Credential, error)
	Revoke(ctx context.Context, by, which string) (access.Credential, error)
	List(ctx context.Context) ([]access.Credential, error)
}

// HostTokens makes the access tokens of hosts. It implements mcpclients.TokenIssuer.
type HostTokens struct{ Admission Admission }

// by is the author of tokens, in the audit log.
const by = "connect"

// Good implements mcpclients.TokenIssuer.
func (k HostTokens) Good(ctx context.Context, name, secret string, toolsets []string) (bool, error) {
	all, err := k.Admission.List(ctx)
	if err != nil {
		return false, err
	}
	digest := access.DigestOf(secret)
	return slices.ContainsFunc(all, func(c access.Credential) bool {
		return c.Kind == access.Token && c.Name == name && c.Digest == digest && slices.Equal(sorted(c.Scope.Toolsets), sorted(toolsets))
	}), nil
}

// Renew implements mcpclients.TokenIssuer. The secret has the form of every access token.
func (k HostTokens) Renew(ctx context.Context, name string, toolsets []string) (string, error) {
	if err := k.Revoke(ctx, name); err != nil {
		return "", err
	}
	secret := httpauth.Secret(httpauth.TokenPrefix)
	_, err := k.Admission.Issue(ctx, by, access.Credential{Kind: access.Token, Name: name, Scope: access.Scope{Toolsets: toolsets}, Digest: access.DigestOf(secret)})
	return secret, err
}

// Revoke implements mcpclients.TokenIssuer.
func (k HostTokens) Revoke(ctx context.Context, name string) error {
	_, err := k.Admission.Revoke(ctx, by, name)
	if errors.Is(err, access.ErrMissing) {
		return nil
	}
	return err
}

// Live implements mcpclients.TokenIssuer.
func (k HostTokens) Live(ctx context.Context, name, secret string) (bool, error) {
	all, err := k.Admission.List(ctx)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(all, func(c access.Credential) bool {
		return c.Kind == access.Token && c.Name == name && (secret == "" || c.Digest == access.DigestOf(secret))
	}), nil
}

func sorted(names []string) []string { return slices.Sorted(slices.Values(names)) }
