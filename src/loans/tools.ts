import type { TProperties, TSchema } from "@sinclair/typebox";
import { Id } from "../core/schema.ts";
import { mayChange } from "../audit/recorder.ts";
import { tool, type Tool, type ToolDefinition } from "../mcp/tool.ts";
import { describe } from "../mcp/wire_schema.ts";

/** Defines a tool for loans, which deployments without LOAN_SERVICE_KEY do not have. */
export function loanTool<I extends TProperties, O extends TSchema>(definition: ToolDefinition<I, O>): Tool {
  return tool({
    ...definition,
    takes_environment: true,
    is_available: ({ loan_service_key }) => loan_service_key !== null,
    is_always_concise: definition.operations.some(({ permission }) => mayChange(permission)),
  });
}

export const application_id = describe(Id, "The application's id");
export const program_id = describe(Id, "The loan program's id");
export const definition_id = describe(Id, "The consent definition's id");
