import type { Tool as ProtocolTool } from "@modelcontextprotocol/server";
import { type Static, type TObject, type TProperties, type TSchema, Type } from "@sinclair/typebox";
import type { Context } from "../app/context.ts";
import { type Actor, ENVIRONMENTS, type Level, levelOf, may, type Permission } from "../core/access.ts";
import type { Config } from "../core/config.ts";
import { LIMITS } from "../core/limits.ts";
import { oneOf, strict } from "../core/schema.ts";
import { mayChange } from "../features/audit/telling.ts";
import { outlined, said, trimmed, type WireSchema, wireSchema } from "./wire_schema.ts";

/** Never told unless the details are asked for: a user sees one company, and an agent rarely asks when. */
const ALWAYS_DETAILS = ["company_id", "created_at", "updated_at"];

const FORMATS = ["concise", "detailed"] as const;
const ResponseFormat = Type.Optional(said(oneOf(FORMATS), "detailed: every field"));

const RequestId = Type.Optional(
  said(
    Type.String({ pattern: "^[\\x21-\\x7e]{1,255}$", description: "1 to 255 visible ASCII characters" }),
    `Sent again within ${LIMITS.idempotency_hours} hours, nothing is done twice`,
  ),
);

/** No default: what is tried out and what is done for real must not be confused by leaving a word out. */
const InEnvironment = said(oneOf(ENVIRONMENTS), "never assumed");

/** How deep an answer's schema is told: `data`, and the fields of its records; of loans the first alone. */
const OUTLINE_DEPTH = 2;
/** Where a finder tells of the record, or an agent reads it before it acts. */
const BRIEF_OUTLINE_DEPTH = 1;

/** A tool as it is written down. Its name and texts are read by models: they say when to use it, and what next. */
export interface ToolDefinition<I extends TProperties, O extends TSchema> {
  name: string;
  title: string;
  description: string;
  /** Who sees it, company users by default: no tool is for both. */
  level?: Level;
  /** Parameters of any tool whose values this one finds: a refusal of such a value names it. */
  finds?: readonly string[];
  /** What it is made of: an actor who may not do all of this does not see the tool. */
  operations: readonly { readonly permission: Permission }[];
  /** It takes something away, or does what can't be undone. */
  is_destructive?: boolean;
  /** It may ask somebody outside of Meterhouse to act: a bank, say. */
  reaches_out?: boolean;
  /** Making something twice would hurt: the tool takes a `request_id`. */
  takes_request_id?: boolean;
  /** It answers the record that a finder of its family describes: a list of tools describes it once. */
  is_outlined_elsewhere?: boolean;
  /** It works on loans, in the `environment` that it asks for: there only where the deployment has a service key. */
  is_for_loans?: boolean;
  /**
   * Present where records are large: the fields, at any depth, that the concise format leaves out. What changes a
   * loan has no other format: the tool that reads it tells all.
   */
  details?: readonly string[];
  input: I;
  /** `{data}`, as REST answers it. */
  output: O;
  run: (ctx: Context, input: Static<TObject<I>>) => Promise<Static<O>>;
}

/** A tool, ready to be listed and called. */
export interface Tool {
  name: string;
  level: Level;
  finds: readonly string[];
  permissions: ReadonlySet<Permission>;
  is_for_loans: boolean;
  /** As tools/list tells it. */
  listed: ListedTool;
  input: TObject;
  is_read_only: boolean;
  /** Runs it with an input that fits. Errors: those of its operations. */
  run(ctx: Context, input: Record<string, unknown>): Promise<Record<string, unknown>>;
}

/** Who looks for tools, and in which deployment. */
export interface Viewer {
  actor: Actor;
  config: Pick<Config, "loan_service_key">;
}

type RootSchema = ProtocolTool["inputSchema"];

export interface ListedTool {
  name: string;
  title: string;
  description: string;
  inputSchema: RootSchema;
  outputSchema: RootSchema;
  annotations: {
    readOnlyHint: boolean;
    destructiveHint: boolean;
    idempotentHint: boolean;
    openWorldHint: boolean;
  };
}

/** Makes a tool from its definition: everything that is the same on each call is computed here, once. */
export function tool<I extends TProperties, O extends TSchema>(definition: ToolDefinition<I, O>): Tool {
  const {
    name,
    title,
    description,
    level = "company",
    finds = [],
    details,
    is_destructive = false,
    reaches_out = false,
    is_outlined_elsewhere = false,
    is_for_loans = false,
    takes_request_id = false,
  } = definition;
  const permissions = new Set(definition.operations.map(({ permission }) => permission));
  const is_read_only = ![...permissions].some(mayChange);
  const has_formats = details !== undefined && (is_read_only || !is_for_loans);
  const parameters: TProperties = {
    ...(is_for_loans ? { environment: InEnvironment } : {}),
    ...definition.input,
    ...(has_formats ? { response_format: ResponseFormat } : {}),
    ...(takes_request_id ? { request_id: RequestId } : {}),
  };
  const accepted = strict(parameters);
  const whole = wireSchema(definition.output);
  const left_out = new Set([...ALWAYS_DETAILS, ...(details ?? [])]);
  return {
    name,
    level,
    finds,
    permissions,
    is_for_loans,
    input: accepted,
    is_read_only,
    listed: {
      name,
      title,
      description,
      inputSchema: rootOf(wireSchema(accepted)),
      outputSchema: rootOf(
        outlined(
          whole,
          left_out,
          is_outlined_elsewhere || is_for_loans ? BRIEF_OUTLINE_DEPTH : OUTLINE_DEPTH,
        ),
      ),
      annotations: {
        readOnlyHint: is_read_only,
        destructiveHint: is_destructive,
        idempotentHint: is_read_only,
        openWorldHint: reaches_out,
      },
    },
    async run(ctx, input) {
      const { response_format = "concise", ...given } = input;
      delete given.request_id;
      // Whose loans are seen follows from the actor, who was told it.
      if (is_for_loans) delete given.environment;
      // Checked against `accepted`, which has these fields; TypeScript can't follow that through the spread.
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion
      const answer = await definition.run(ctx, given as Static<TObject<I>>);
      const told = details && response_format === "concise" ? trimmed(whole, answer, left_out) : answer;
      if (typeof told !== "object" || told === null) throw new Error(`${name} answers no object`);
      return { ...told };
    },
  };
}

/** A schema as plain data: without the schema library's symbols. */
function rootOf(schema: WireSchema): RootSchema {
  return JSON.parse(JSON.stringify({ ...schema, type: "object" }));
}

/** Whether an actor sees a tool: one of its level, all of which it may do, in a deployment that has it. */
export function sees({ actor, config }: Viewer, { level, permissions, is_for_loans }: Tool): boolean {
  if (is_for_loans && config.loan_service_key === null) return false;
  return levelOf(actor) === level && [...permissions].every((permission) => may(actor, permission));
}
