package tool_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/countersign-dev/countersign/domain/policy"
	"github.com/countersign-dev/countersign/domain/tool"
)

func TestPermission(t *testing.T) {
	for _, c := range []struct {
		class   policy.Class
		effects policy.Effects
		want    string
	}{
		{policy.ClassRead, policy.Read, tool.PermissionRead},
		{policy.ClassRead, policy.Read | policy.Network, tool.PermissionRead},
		{policy.ClassScratch, policy.Read | policy.Write, tool.PermissionWrite},
		{policy.ClassScratch, policy.Network, tool.PermissionWrite},
		{policy.ClassWrite, policy.Write, tool.PermissionWrite},
		{policy.ClassWrite, policy.Read | policy.Write | policy.Exec, tool.PermissionExecute},
		{policy.ClassWrite, policy.Network, tool.PermissionExecute},
		{policy.ClassDangerous, policy.Delete, tool.PermissionWrite},
		{policy.ClassDangerous, policy.Delete | policy.Exec, tool.PermissionExecute},
	} {
		assert.Equal(t, c.want, tool.Spec{Class: c.class, Effects: c.effects}.Permission(), "%s %s", c.class, c.effects)
	}
}
