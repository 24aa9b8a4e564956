package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// attackTests is where every attack on consent is tried: in TestAttacks over stdio and from the command line, in TestAttacksOverHTTP over each transport of a
// server, and, where an attack is on one part, in the tests of that part. A test stands here as the directory it is in and its name.
var attackTests = map[string][]string{
	"self-confirmation by token, yes, typed name, confirm":          {"cmd/countersign TestAttacks", "cmd/countersign TestAttacksOverHTTP", "adapters/mcp/mcpserver TestAFormDoesNotAnswerForTheCaller"},
	"self-made form results over bearer and over stdio":             {"cmd/countersign TestAttacks", "cmd/countersign TestAttacksOverHTTP", "adapters/mcp/mcphttp TestNoFormCounts", "adapters/mcp/mcpserver TestAnswersOfACallersOwnMaking", "adapters/mcp/mcpserver TestRequestStateIsSealed"},
	"forms auto-answered":                                           {"adapters/mcp/mcpserver TestNoFormIsShown", "adapters/mcp/mcpserver TestAFormThatNobodyAnswers", "app TestAFormAnswersWhereAPersonSwitchedItOn"},
	"deploy, rollback, evolve, destroy unseen":                      {"cmd/countersign TestAttacksOverHTTP", "cmd/countersign TestWithoutATerminalTheQuestionStays"},
	"a plan longer than a form":                                     {"adapters/mcp/mcpserver TestFormShowsAll", "adapters/mcp/mcpserver TestNoFormIsShown"},
	"an approval before its end was seen":                           {"adapters/cli/admincmd TestNothingIsApprovedUnread"},
	"hidden and look-alike characters":                              {"domain/visible TestWhatIsHidden", "app TestWhatIsHiddenIsFoundEverywhere", "app TestHiddenCharactersAreNeverApprovedInAdvance", "cmd/countersign TestNothingInAModuleStaysHidden"},
	"loosened by environment, flag, file, database, another home":   {"cmd/countersign TestAttacks", "app TestARowThatSomebodyEditedOpensNothing", "app TestWhatWasNarrowedStaysSo", "app TestAnEditedQuestionIsShownToNobodyAndApprovesNothing", "app TestARowLetsNothingThroughByItself"},
	"a second server with another policy, another home":             {"cmd/countersign TestAttacks"},
	"a home, a host entry, configuration committed in a repository": {"cmd/countersign TestAttacks"},
	"rules for actions, a webhook that starts runs":                 {"cmd/countersign TestAttacks"},
	"loosened over a network":                                       {"cmd/countersign TestAttacksOverHTTP", "adapters/httpapi TestWhatSettingsOpenWaitsForAPerson", "adapters/httpapi TestCredentialsAreMadeByPeopleAlone"},
	"a remote that only the agent has named":                        {"cmd/countersign TestAnUnapprovedRemoteIsAskedAbout", "adapters/gitcli TestOnlyApprovedRemotesAreReached"},
	"git: hooks and programs that a repository names":               {"adapters/gitcli/workgit TestNothingOfARepositoryRuns", "adapters/gitcli TestNothingThatARepositoryConfiguresRuns", "app/projects/gitwork TestFiltersOfTheRepositoryRefuseStaging", "app/projects/gitwork TestEveryHookThatRunsIsNamed"},
	"git: files and branches called like options or patterns":       {"adapters/gitcli/workgit TestNamesAreNamesAlone"},
	"git: a remote that is a program, a site with the user's login": {"adapters/gitcli/workgit TestARemoteThatIsAProgramIsNotStarted", "adapters/forge TestASiteThatNobodyApprovedIsNotAsked"},
	"git: index, commit, branch, stash swapped after the plan":      {"adapters/gitcli/workgit TestWhatMovedMeanwhileIsNotDone", "app/projects/gitwork TestWhatIsStagedIsWhatWasShown"},
	"tasks: commands that a runner's file hides":                    {"domain/project/tasks TestWhatStandsAroundATaskIsSaid"},
	"a program in a sandbox types into the terminal of its user":    {"adapters/isolation TestLandlockKeepsProgramsInside"},
	"a payload in a masked span":                                    {"app TestAMaskedPayloadIsRevealedBeforeItIsApproved", "adapters/cli/admincmd TestWhatIsMaskedIsRevealedFirst", "app TestWhatIsMaskedIsCountedAndJudged"},
	"power handed on":                                               {"app/deployments TestPowerHandedOn"},
	"a passkey enrolled by a program, a log-in link read by one":    {"app/control TestTheFirstPasskeyIsApprovedInATerminal", "app/control TestAFurtherPasskeyWantsOneThatCounts", "adapters/console/adminpages TestAProgramWithABrowsersLogIn", "app TestOneBrowserALogIn"},
	"script, file behind a script, config, destination, parent link swapped": {"cmd/countersign TestAttacks", "app/projects TestFilesBehindCommandsAreBound", "app/projects TestStepsDoNotRunWhatAnEarlierOneSwapped",
		"app/deployments TestAParentSwappedForALink", "app/deployments TestAParentSwappedAfterThePlanWasMadeAgain", "app/sandboxes TestCommandsRunOnTheCommitThatWasShown"},
	"replay, theft, many at once":                                    {"app TestATokenIsSpentOnceUnderContention", "cmd/countersign TestOneTokenAppliesOnce", "cmd/countersign TestOneYesLetsOneCallRun", "adapters/sqlitestore TestOneOfManyProcessesRedeems"},
	"always widened to another project, content, argument":           {"app TestAlwaysCoversTheScopeOfThePlan", "app/projects TestAlwaysIsForContent", "app TestADatedGrantLetsTheSameThrough", "app TestWhatTheQuestionsRowSaysIsNotGranted"},
	"approval from another namespace, directory":                     {"app TestWhoCannotSeeApprovesThePlanOnRecord", "app TestWhoStandsElsewhereJudgesNoPlanThatDependsOnThat", "cmd/countersign TestServersOfTwoNamespaces"},
	"audit cut, rebuilt, row inserted, answer forged":                {"domain/audit TestAnyRemovalSwapOrInsertionIsFound", "adapters/anchoring TestWhatWasDoneToTheRecordIsFound", "adapters/sqlitestore TestCutChainNeverHeals", "cmd/countersign TestAttacks"},
	"a change cut from the audit as if retention had removed a read": {"domain/audit TestNothingButWhatWasRemovedMayBeMissing", "domain/audit TestARemovalNeedsThatAPersonAllowedIt", "adapters/anchoring TestACutIsNoRemoval", "adapters/anchoring TestNothingIsRemovedThatIsNotAllowed"},
	"text spoofing":                                                   {"cmd/countersign TestApprovalsShowHostileTextAsText", "domain/visible TestWhatIsHidden", "adapters/mcp/mcpserver TestFormShowsAll"},
	"CSRF, rebinding, framing":                                        {"adapters/httpauth TestChangesComeFromOurOwnPages", "adapters/httpauth TestWhereRequestsMayGo", "adapters/httpauth TestEveryAnswerCarriesTheHeaders"},
	"time-outs and crashes read as yes":                               {"cmd/countersign TestApprovalsSurviveTheServer", "app TestHowQuestionsEnd", "adapters/mcp/mcpserver TestAFormThatNobodyAnswers"},
	"bad day: killed between yes and commit":                          {"cmd/countersign TestAQuestionOutlivesWhoAskedIt", "cmd/countersign TestApprovalsSurviveTheServer", "cmd/countersign TestProjectsServerKilledDuringScript"},
	"bad day: the clock set back":                                     {"app TestTheClockIsSetBack"},
	"bad day: the database read-only":                                 {"cmd/countersign TestTheDatabaseIsOfNoUse", "adapters/sqlitestore TestUnprivilegedUser"},
	"bad day: the database full":                                      {"cmd/countersign TestTheDiskIsFull"},
	"bad day: the database locked":                                    {"cmd/countersign TestTheDatabaseIsLocked"},
	"bad day: the database zero bytes long":                           {"cmd/countersign TestTheDatabaseIsOfNoUse", "adapters/sqlitestore TestAnEmptiedDatabaseIsAFault"},
	"bad day: an older copy of the database":                          {"adapters/anchoring TestWhatWasDoneToTheRecordIsFound"},
	"a used or revoked answer brought back by a restore":              {"adapters/local TestWhatWasApprovedBeforeARestoreLetsNothingHappen", "app TestWhatWasAllowedBeforeARestoreIsAskedAgain"},
	"a hostile or exchanged backup":                                   {"adapters/homearchive TestWhatIsNoBackupIsRefused", "adapters/homearchive TestAnotherBackupThanTheApprovedOne"},
	"bad day: killed while restoring":                                 {"adapters/homearchive TestARestoreKilledAnywhere"},
	"bad day: keys missing":                                           {"adapters/docfile TestLostKey", "adapters/anchoring TestARecordThatWasBegunWithoutAKey"},
	"bad day: two people in the same second":                          {"cmd/countersign TestManyAnswersAtOnce", "adapters/console/adminpages TestTwoPeopleAnswerOneApproval"},
	"pseudo-terminal, scripted browser: succeed, and what stops them": {"cmd/countersign TestATerminalOfItsOwn", "cmd/countersign TestAPasskeyEnrolledByAProgram"},
	"bad day: a surface killed while it answers":                      {"cmd/countersign TestAnApproverIsKilled", "cmd/countersign TestAFormIsAnsweredTwice", "cmd/countersign TestApprovalsSurviveTheServer"},
	"bad day: a receiver of messages hangs":                           {"adapters/notify TestAReceiverThatHangsHoldsNothingUp", "adapters/notify TestAReceiverThatHangsIsLeft"},
	"click timing":                                                    {"adapters/console/adminpages TestInABrowser"},
	"bad day: a form's answer late or of another":                     {"cmd/countersign TestAFormIsAnsweredTwice", "adapters/mcp/mcpserver TestALateFormIsToldWhoDecided", "adapters/mcp/mcpserver TestRequestStateIsSealed"},
}

// TestEveryAttackHasItsTest holds the table to the tree: a test that is renamed or taken away is missed.
func TestEveryAttackHasItsTest(t *testing.T) {
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	for attack, tests := range attackTests {
		require.NotEmpty(t, tests, attack)
		for _, test := range tests {
			dir, name, _ := strings.Cut(test, " ")
			files, err := filepath.Glob(filepath.Join(root, dir, "*_test.go"))
			require.NoError(t, err)
			there := false
			for _, file := range files {
				text, err := os.ReadFile(file)
				require.NoError(t, err)
				there = there || regexp.MustCompile(`(?m)^func `+name+`\(`).Match(text)
			}
			assert.True(t, there, "%s: %s is in no test file of %s", attack, name, dir)
		}
	}
}
