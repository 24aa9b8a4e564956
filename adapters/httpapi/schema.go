package httpapi

import (
	"encoding/json"

	"github.com/countersign-dev/countersign/adapters/present"
	"github.com/countersign-dev/countersign/domain/tool"
)

// The types of the JSON API, as JSON Schema.
const (
	errorSchema = `{"type":"object","description":"an error of the API itself","required":["error"],"properties":{"error":{"type":"object","required":["code","message"],
		"properties":{"code":{"type":"string"},"message":{"type":"string"},"details":{}}}}}`
	toolSchema = `{"type":"object","required":["name","title","description","toolset","contract","class","effects","permission","confirm","decision","input"],"properties":{
		"name":{"type":"string"},"title":{"type":"string"},"description":{"type":"string"},"toolset":{"type":"string"},"contract":{"type":"string"},"category":{"type":"string"},
		"class":{"enum":["read","scratch","write","dangerous"]},"effects":{"type":"string"},"permission":{"enum":["read","execute","write"]},
		"risk":{"type":"string"},"confirm":{"enum":["none","simple","preview","type"]},"people":{"type":"boolean"},
		"decision":{"type":"object","description":"the current policy verdict for a call of this client that uses all effects of the tool","required":["verdict","rule","mode","strength"],
			"properties":{"verdict":{"enum":["deny","explain","dry_run","confirm","allow"]},"rule":{"type":"string"},"mode":{"type":"string"},"strength":{"type":"string"}}},
		"input":{"type":"object","description":"JSON Schema of the arguments"},"output":{"type":"object","description":"JSON Schema of the value"}}}`
	toolListSchema     = `{"type":"object","required":["count","tools"],"properties":{"count":{"type":"integer"},"tools":{"type":"array","items":{"$ref":"#/components/schemas/Tool"}}}}`
	toolsetListSchema  = `{"type":"object","required":["toolsets"],"properties":{"toolsets":{"type":"array","items":{"type":"object","required":["name","served"],"properties":{"name":{"type":"string"},"served":{"type":"array","items":{"type":"string"}},"hidden":{"type":"array","items":{"type":"string"}},"served_with":{"type":"string"}}}}}}`
	confirmationSchema = `{"type":"object","required":["id","tool","strength","prompt","state","plan_hash","issued_at","expires_at"],"properties":{
		"id":{"type":"string"},"tool":{"type":"string"},"strength":{"enum":["none","simple","preview","type"]},"risk":{"type":"string"},"prompt":{"type":"string"},
		"target":{"type":"string","description":"what the user must type if strength is type"},"state":{"enum":["pending","approved","spent","denied","canceled","burnt"]},
		"plan_hash":{"type":"string"},"plan":{},"arguments":{"type":"object"},"issued_at":{"type":"string","format":"date-time"},"expires_at":{"type":"string","format":"date-time"},
		"callId":{"type":"string"},"conversationId":{"type":"string"},"client":{"type":"string"},"description":{"type":"string"},"context":{},
		"lasting":{"type":"boolean","description":"always is a possible decision"},"own":{"type":"boolean","description":"the request is from this client's session"}}}`
	confirmationListSchema = `{"type":"object","required":["count","confirmations"],"properties":{"count":{"type":"integer"},"confirmations":{"type":"array","items":{"$ref":"#/components/schemas/Confirmation"}}}}`
	approvalSchema         = `{"type":"object","required":["plan_hash"],"additionalProperties":false,"properties":{"plan_hash":{"type":"string","description":"hash of the plan that the user saw"},
		"typed_value":{"type":"string"},"always":{"type":"boolean","description":"allow the same again for the rest of the session that asked"}}}`
	grantSchema = `{"type":"object","description":"a grant that the user gave","required":["id","tool","scope","session","principal","created_by","created_at","expires_at"],"properties":{
		"id":{"type":"string","description":"id of the approval request that it was given with"},"tool":{"type":"string"},"scope":{"type":"string","description":"the part of the tool that it covers; empty means all of it"},"what":{"type":"string","description":"the scope in words"},
		"session":{"type":"string"},"principal":{"type":"string"},"created_by":{"type":"string"},"created_at":{"type":"string","format":"date-time"},"expires_at":{"type":"string","format":"date-time"},
		"dated":{"type":"object","description":"present if the grant holds until a date, in any session","required":["what","any_arguments","any_host","uses"],"properties":{"what":{"type":"string"},"user":{"type":"string"},"any_arguments":{"type":"boolean"},
			"host_entry":{"type":"string"},"any_host":{"type":"boolean"},"uses":{"type":"integer"},"last_used_at":{"type":"string","format":"date-time"}}}}}`
	grantListSchema = `{"type":"object","required":["count","grants"],"properties":{"count":{"type":"integer"},"grants":{"type":"array","items":{"$ref":"#/components/schemas/Grant"}}}}`
	denialSchema    = `{"type":"object","additionalProperties":false,"properties":{"reason":{"type":"string","maxLength":500}}}`
	nothingSchema   = `{"type":"object","additionalProperties":false}`
	toolCallSchema  = `{"type":"object","description":"ToolExecutionState","required":["callId","toolName","status","arguments","timestamp"],"properties":{
		"callId":{"type":"string"},"toolName":{"type":"string"},"status":{"enum":["pending_confirmation","executing","completed","failed","denied"]},"arguments":{"type":"object"},
		"result":{"type":"object","required":["success","output"],"properties":{"success":{"type":"boolean"},"output":{"type":"string"},"error":{"type":"string"},"code":{"type":"string"},"durationMs":{"type":"integer"}}},
		"timestamp":{"type":"string","format":"date-time"},"reason":{"type":"string"},"decisionSource":{"type":"string"},"risk":{"type":"string"},"denyReason":{"type":"string"},"what":{"type":"string"},
		"startedAt":{"type":"string","format":"date-time"},"endedAt":{"type":"string","format":"date-time"},"expiresAt":{"type":"string","format":"date-time"},"confirmationId":{"type":"string"},
		"redeemedBy":{"type":"string"},"toolset":{"type":"string"},"session":{"type":"string"},"principal":{"type":"string"},"client":{"type":"string"},"owner":{"type":"string"}}}`
	toolCallListSchema = `{"type":"object","required":["count","toolCalls"],"properties":{"count":{"type":"integer"},"toolCalls":{"type":"array","items":{"$ref":"#/components/schemas/ToolCall"}},"next":{"type":"string","description":"value of before for the next page"}}}`
	auditRecordSchema  = `{"type":"object","required":["seq","event","prev","hash"],"properties":{"seq":{"type":"integer"},"prev":{"type":"string"},"hash":{"type":"string"},
		"event":{"type":"object","required":["time","phase","call_id","tool"],"properties":{"time":{"type":"string","format":"date-time"},"phase":{"enum":["intent","outcome","answer","asked","begun","ended"]},"call_id":{"type":"string"},
		"session":{"type":"string"},"principal":{"type":"string"},"client":{"type":"string"},"tool":{"type":"string"},"class":{"type":"string"},"args":{},"plan":{"type":"string"},"verdict":{"type":"string"},
		"rule":{"type":"string"},"approved_by":{"type":"string"},"code":{"type":"string"},"duration_us":{"type":"integer"},"redactions":{"type":"integer"},"home":{"type":"string"}}}}}`
	auditListSchema     = `{"type":"object","required":["count","records","next"],"properties":{"count":{"type":"integer"},"records":{"type":"array","items":{"$ref":"#/components/schemas/AuditRecord"}},"next":{"type":"integer","description":"value of after for the next page"}}}`
	verificationSchema  = `{"type":"object","required":["intact","records"],"properties":{"intact":{"type":"boolean"},"records":{"type":"integer","description":"that hold"},"head":{"type":"string","description":"hash of the last record"},"keys":{"type":"array","description":"the records that each key covers","items":{"type":"object","properties":{"key":{"type":"string"},"from":{"type":"integer"},"to":{"type":"integer"}}}},"anchors":{"type":"array","description":"what each external anchor covers: records 1 to its own","items":{"type":"object","properties":{"kind":{"type":"string"},"where":{"type":"string"},"to":{"type":"integer"},"at":{"type":"string"},"problem":{"type":"string"},"note":{"type":"string"}}}},"error":{"type":"object","properties":{"code":{"type":"string"},"message":{"type":"string"}}}}}`
	settingsSchema      = `{"type":"object","required":["revision","permission_level"],"additionalProperties":false,"properties":{"revision":{"type":"integer","minimum":0},"permission_level":{"enum":["","read_only","execute_with_confirm","full_access"]},"tool_permissions":{"type":["object","null"],"additionalProperties":{"enum":["","allowed","confirm","blocked"]}},"auto_approve":{"type":"object","properties":{"enabled":{"type":"boolean"},"tools":{"type":["array","null"],"items":{"type":"string"}}}},"approval":{"enum":["","human","caller"],"description":"left out: as it is"},"max_mode":{"enum":["","ask","plan","execute"],"description":"left out: as it is"},"require":{"type":["object","null"],"additionalProperties":{"enum":["","person","touch","passkey"]},"description":"the least proof of an approval, by tool, high and type; left out: as it is"},"forms":{"type":["array","null"],"items":{"type":"string"},"description":"host entries whose form may approve; left out: as it is"},"keep_reads_days":{"type":"integer","minimum":0,"maximum":36500,"description":"after how many days records of reads go from the audit log; 0 never; left out: as it is"},"in_force":{"type":"object","readOnly":true,"description":"the policy in force, with the layer that decided each part of it"},"warnings":{"type":"array","items":{"type":"string"},"readOnly":true}}}`
	askedSchema         = `{"type":"object","description":"an approval request. Without a confirm_token only the user can decide it","required":["confirmation_id","strength","prompt","expires_at","plan_hash"],"properties":{"confirm_token":{"type":"string"},"confirmation_id":{"type":"string"},"strength":{"type":"string"},"prompt":{"type":"string"},"type_to_confirm":{"type":"string"},"expires_at":{"type":"string"},"plan_hash":{"type":"string"},"plan":{}}}`
	countersignSchema   = `{"type":"object","description":"a failure in countersign.v1","required":["error","kind","code","message"],"properties":{"error":{"const":true},"kind":{"type":"string"},"code":{"type":"string"},"message":{"type":"string"},"details":{},"confirmation":{"$ref":"#/components/schemas/Asked"},"plan":{}}}`
	contextPackSchema   = `{"type":"object","description":"a failure in contextpack.v2","required":["error","kind","code","message","request_id"],"properties":{"error":{"const":true},"kind":{"type":"string"},"code":{"type":"string"},"message":{"type":"string"},"request_id":{},"details":{},"confirmation":{"$ref":"#/components/schemas/Asked"}}}`
	packAnswerSchema    = `{"type":"object","description":"an answer in contextpack.v2: {action, payload} of input, {markdown} of output"}`
	agentpackSchema     = `{"type":"object","description":"the one envelope of agentpack.v1","required":["schema_version","ok","command","command_id","command_path","version","data","warnings","errors"],"properties":{"schema_version":{"const":1},"ok":{"type":"boolean"},"command":{"type":"string"},"command_id":{"type":"string"},"command_path":{"type":"array","items":{"type":"string"}},"version":{"type":"string"},"data":{"type":"object"},"warnings":{"type":"array","items":{"type":"string"}},"errors":{"type":"array","items":{"type":"object","required":["code","message"],"properties":{"code":{"type":"string"},"message":{"type":"string"},"details":{"type":"object"}}}}}}`
	packageflowSchema   = `{"type":"object","description":"the one envelope of packageflow.v1","required":["success","output","error","duration_ms"],"properties":{"success":{"type":"boolean"},"output":{"type":"string","description":"the value as JSON text; empty on failure"},"error":{"type":["string","null"]},"duration_ms":{"type":["integer","null"]},"confirmation":{"type":"object","description":"present if approval is needed: confirm_token, prompt, context, plan …"}}}`
	opencodeSchema      = `{"type":"object","description":"a failure in opencode.v1","required":["status","error","message"],"properties":{"status":{"const":"error"},"error":{"type":"string"},"message":{"type":"string"},"suggestion":{"type":"string"},"details":{"type":"object"},"git_url":{"type":"string"},"confirmation":{"$ref":"#/components/schemas/Asked"}}}`
	opencodeValueSchema = `{"type":"object","description":"an answer in opencode.v1","required":["status"],"properties":{"status":{"type":"string"}}}`
	amofSchema          = `{"type":"object","description":"an answer in amof.v1, whatever became of the call","required":["_context","suggested_actions"],"properties":{"status":{"type":"string"},"code":{"type":"string"},"message":{"type":"string"},"_context":{"type":"object"},"suggested_actions":{"type":"array","items":{"type":"object"}}}}`
	dryRunSchema        = `{"type":"object","description":"the plan of a call in mode plan","required":["dry_run","plan"],"properties":{"dry_run":{"const":true},"plan":{}}}`
)

// schemas returns the schemas by name.
func schemas() object {
	all := object{}
	for name, text := range map[string]string{
		"Error": errorSchema, "Tool": toolSchema, "ToolList": toolListSchema, "ToolsetList": toolsetListSchema, "Confirmation": confirmationSchema,
		"ConfirmationList": confirmationListSchema, "Approval": approvalSchema, "Denial": denialSchema, "Grant": grantSchema, "GrantList": grantListSchema, "Nothing": nothingSchema, "ToolCall": toolCallSchema,
		"ToolCallList": toolCallListSchema, "AuditRecord": auditRecordSchema, "AuditList": auditListSchema, "AuditVerification": verificationSchema,
		"Settings": settingsSchema, "Asked": askedSchema, "DryRun": dryRunSchema, "CountersignFailure": countersignSchema, "ContextPackFailure": contextPackSchema,
		"ContextPackAnswer": packAnswerSchema, "AgentpackEnvelope": agentpackSchema, "PackageflowEnvelope": packageflowSchema, "OpencodeFailure": opencodeSchema,
		"OpencodeAnswer": opencodeValueSchema, "AmofAnswer": amofSchema,
	} {
		all[name] = json.RawMessage(text)
	}
	return all
}

// contractOf returns the schemas of a tool's success and failure in its contract.
func contractOf(s tool.Spec) (success, failure any) {
	switch s.Contract {
	case present.ContextPack:
		return schema("ContextPackAnswer"), schema("ContextPackFailure")
	case present.Agentpack:
		return schema("AgentpackEnvelope"), schema("AgentpackEnvelope")
	case present.Packageflow:
		return schema("PackageflowEnvelope"), schema("PackageflowEnvelope")
	case present.Opencode:
		return or(present.Results(s), schema("OpencodeAnswer")), schema("OpencodeFailure")
	case present.Amof:
		return or(present.Results(s), schema("AmofAnswer")), schema("AmofAnswer")
	}
	bare := object{"anyOf": []any{object{"description": "the bare value"}, schema("DryRun")}}
	return or(present.Results(s), bare), schema("CountersignFailure")
}

// or returns a tool's own schema of its value if it has one.
func or(own json.RawMessage, otherwise any) any {
	if len(own) > 0 {
		return own
	}
	return otherwise
}
