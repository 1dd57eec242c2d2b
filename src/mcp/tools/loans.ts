import type { TProperties, TSchema } from "@sinclair/typebox";
import { Id } from "../../core/schema.ts";
import { tool, type Tool, type ToolDefinition } from "../tool.ts";
import { said } from "../wire_schema.ts";

// What the tools for loans share.

/** Builds a tool that works on loans, in the environment that it takes as a parameter. */
export function loanTool<I extends TProperties, O extends TSchema>(
  definition: Omit<ToolDefinition<I, O>, "is_for_loans">,
): Tool {
  return tool({ ...definition, is_for_loans: true });
}

export const application_id = said(Id, "The application's id");
export const program_id = said(Id, "The loan program's id");
