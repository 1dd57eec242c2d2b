import type { Tool as ProtocolTool } from "@modelcontextprotocol/server";
import { type Static, type TObject, type TProperties, type TSchema, Type } from "@sinclair/typebox";
import type { Context } from "../app/context.ts";
import { type Actor, ENVIRONMENTS, type Level, levelOf, may, type Permission } from "../core/access.ts";
import type { Config } from "../core/config.ts";
import { LIMITS } from "../idempotency/limits.ts";
import { oneOf, strict } from "../core/schema.ts";
import { mayChange } from "../audit/recorder.ts";
import { outlineOf, describe, omitInTurns, type WireSchema, wireSchema } from "./wire_schema.ts";

/** Fields that every concise result leaves out: a user sees one company, and rarely asks when. */
const ALWAYS_DETAILS = ["company_id", "created_at", "updated_at"];

const FORMATS = ["concise", "detailed"] as const;
const ResponseFormat = Type.Optional(describe(oneOf(FORMATS), "detailed: every field"));

const RequestId = Type.Optional(
  describe(
    Type.String({ pattern: "^[\\x21-\\x7e]{1,255}$", description: "1 to 255 visible ASCII characters" }),
    `Sent again within ${LIMITS.idempotency_hours} hours, nothing is done twice`,
  ),
);

/** Has no default: leaving it out must not turn a trial into the real thing. */
const InEnvironment = describe(oneOf(ENVIRONMENTS), "never assumed");

/** Levels of an output schema that are listed: `data`, and the fields of its records. */
const OUTLINE_DEPTH = 2;
/** The same where another tool describes the record. */
const BRIEF_OUTLINE_DEPTH = 1;

/** A tool as it is declared. Models read its name and texts: when to use it, and what to do next. */
export interface ToolDefinition<I extends TProperties, O extends TSchema> {
  name: string;
  title: string;
  description: string;
  /** Whose tool it is, company users' by default: no tool is for both. */
  level?: Level;
  /** Parameters whose valid values it finds: errors about them point to it. */
  finds?: readonly string[];
  /** The operations that it calls: an actor who may not call all of them does not see the tool. */
  operations: readonly { readonly permission: Permission }[];
  /** It removes something, or can't be undone (MCP: destructiveHint). */
  is_destructive?: boolean;
  /** It may make an outside party act, such as a bank (MCP: openWorldHint). */
  is_open_world?: boolean;
  /** It takes a `request_id`, because doing the same twice would do harm. */
  takes_request_id?: boolean;
  /** Its output is the record that a finder of its family describes, and is not described again. */
  brief_output?: boolean;
  /** It works in the `environment` that it takes as a parameter, never assumed. */
  takes_environment?: boolean;
  /** Which deployments have it; all by default. */
  is_available?: (config: Config) => boolean;
  /** Fields, at any depth, that the concise format leaves out; present where records are large. */
  details?: readonly string[];
  /** It has no other format: the tool that reads the record returns all. */
  is_always_concise?: boolean;
  input: I;
  /** `{data}`, as REST's response. */
  output: O;
  run: (ctx: Context, input: Static<TObject<I>>) => Promise<Static<O>>;
}

/** A tool that can be listed and called. */
export interface Tool {
  name: string;
  level: Level;
  finds: readonly string[];
  permissions: ReadonlySet<Permission>;
  takes_environment: boolean;
  is_available: (config: Config) => boolean;
  /** Its entry in tools/list. */
  listed: ListedTool;
  input: TObject;
  is_read_only: boolean;
  /** Runs it with a checked input. Errors: those of its operations. */
  run(ctx: Context, input: Record<string, unknown>): Promise<Record<string, unknown>>;
}

/** Who lists or calls tools, and in which deployment. */
export interface Viewer {
  actor: Actor;
  config: Config;
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

/** Builds a tool from its definition; computes here, once, all that is the same on each call. */
export function tool<I extends TProperties, O extends TSchema>(definition: ToolDefinition<I, O>): Tool {
  const {
    name,
    title,
    description,
    level = "company",
    finds = [],
    details,
    is_destructive = false,
    is_open_world = false,
    brief_output = false,
    takes_environment = false,
    is_available = () => true,
    is_always_concise = false,
    takes_request_id = false,
  } = definition;
  const permissions = new Set(definition.operations.map(({ permission }) => permission));
  const is_read_only = ![...permissions].some(mayChange);
  const has_formats = details !== undefined && !is_always_concise;
  const parameters: TProperties = {
    ...(takes_environment ? { environment: InEnvironment } : {}),
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
    takes_environment,
    is_available,
    input: accepted,
    is_read_only,
    listed: {
      name,
      title,
      description,
      inputSchema: rootOf(wireSchema(accepted)),
      outputSchema: rootOf(outlineOf(whole, left_out, brief_output ? BRIEF_OUTLINE_DEPTH : OUTLINE_DEPTH)),
      annotations: {
        readOnlyHint: is_read_only,
        destructiveHint: is_destructive,
        idempotentHint: is_read_only,
        openWorldHint: is_open_world,
      },
    },
    async run(ctx, input) {
      const { response_format = "concise", ...given } = input;
      delete given.request_id;
      // The actor carries it already.
      if (takes_environment) delete given.environment;
      // Checked against `accepted`, which has these fields; TypeScript can't follow that through the spread.
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion
      const answer = await definition.run(ctx, given as Static<TObject<I>>);
      const is_concise = details !== undefined && response_format === "concise";
      const shown = is_concise ? await omitInTurns(whole, answer, left_out) : answer;
      if (typeof shown !== "object" || shown === null) throw new Error(`${name} answers no object`);
      return { ...shown };
    },
  };
}

/** A schema as plain data: without the schema library's symbols. */
function rootOf(schema: WireSchema): RootSchema {
  return JSON.parse(JSON.stringify({ ...schema, type: "object" }));
}

/** Whether a tool is of the actor's level and deployment, and the actor may call all its operations. */
export function isVisible({ actor, config }: Viewer, { level, permissions, is_available }: Tool): boolean {
  if (!is_available(config) || levelOf(actor) !== level) return false;
  return [...permissions].every((permission) => may(actor, permission));
}
