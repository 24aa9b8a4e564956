package memstore_test

import (
	"testing"

	"github.com/countersign-dev/countersign/internal/testkit/memstore"
	"github.com/countersign-dev/countersign/ports"
	"github.com/countersign-dev/countersign/ports/porttest"
)

func ledger(testing.TB) ports.ApprovalStore   { return memstore.New() }
func auditLog(testing.TB) ports.AuditLog      { return memstore.New() }
func settings(testing.TB) ports.SettingsStore { return memstore.New() }
func sessions(testing.TB) ports.Sessions      { return memstore.New().Sessions() }
func runs(testing.TB) ports.Runs              { return memstore.New().Runs() }

func dated(testing.TB) ports.DatedGrants { return memstore.New().Dated() }

func TestDatedGrants(t *testing.T)   { porttest.DatedGrants(t, dated) }
func TestLedger(t *testing.T)        { porttest.Ledger(t, ledger) }
func TestAuditLog(t *testing.T)      { porttest.AuditLog(t, auditLog) }
func TestSettingsStore(t *testing.T) { porttest.SettingsStore(t, settings) }
func TestSessions(t *testing.T)      { porttest.Sessions(t, sessions) }
func TestRuns(t *testing.T)          { porttest.Runs(t, runs) }

func BenchmarkLedger(b *testing.B)        { porttest.BenchmarkLedger(b, ledger) }
func BenchmarkAuditLog(b *testing.B)      { porttest.BenchmarkAuditLog(b, auditLog) }
func BenchmarkSettingsStore(b *testing.B) { porttest.BenchmarkSettingsStore(b, settings) }
func BenchmarkSessions(b *testing.B)      { porttest.BenchmarkSessions(b, sessions) }
func BenchmarkRuns(b *testing.B)          { porttest.BenchmarkRuns(b, runs) }
