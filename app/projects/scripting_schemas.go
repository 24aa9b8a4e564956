package projects

// The published input schemas, generated from the input types by this package's schema test with -update.
const (
	noSchema     = `{"properties":{},"additionalProperties":false,"type":"object"}`
	runSchema    = `{"properties":{"script_name":{"type":"string","minLength":1,"description":"name of the script in package.json; list_project_scripts shows them"},"project_path":{"type":"string","minLength":1,"description":"absolute path of the registered project"}},"additionalProperties":false,"type":"object","required":["script_name","project_path"]}`
	runNPMSchema = `{"properties":{"projectPath":{"type":"string","description":"as list_projects shows it"},"scriptName":{"type":"string"},"args":{"items":{"type":"string"},"type":"array","description":"passed on as they are"},"timeoutMs":{"type":"integer","description":"default 300000; none in the background"},"runInBackground":{"type":"boolean"},"successPattern":{"type":"string","description":"wait for a line matching this RE2"},"successTimeoutMs":{"type":"integer"}},"additionalProperties":false,"type":"object","required":["projectPath","scriptName"]}`
	outputSchema = `{"properties":{"processId":{"type":"string","minLength":1,"description":"as list_background_processes shows it"},"tailLines":{"type":"integer","maximum":2000,"minimum":1,"description":"how many lines (default 100)"},"sinceSeq":{"type":"integer","minimum":0,"description":"only lines after this nextSeq of an earlier answer"}},"additionalProperties":false,"type":"object","required":["processId"]}`
	stopSchema   = `{"properties":{"processId":{"type":"string","minLength":1,"description":"as list_background_processes shows it"},"force":{"type":"boolean","description":"kill it without asking it to end first"}},"additionalProperties":false,"type":"object","required":["processId"]}`
)
