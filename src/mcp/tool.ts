import type { Tool as ProtocolTool } from "@modelcontextprotocol/server";
import { type Static, type TObject, type TProperties, type TSchema, Type } from "@sinclair/typebox";
import type { Context } from "../app/context.ts";
import { type Actor, ENVIRONMENTS, type Level, levelOf, may, type Permission } from "../core/access.ts";
import type { Config } from "../core/config.ts";
import { LIMITS } from "../idempotency/limits.ts";
import { oneOf, strict } from "../core/schema.ts";
import type { Toolset } from "../core/toolsets.ts";
import { mayChange } from "../audit/recorder.ts";
import { TEXT_IDS } from "./ids.ts";
import { fitted, type Place, readPlace, resumed, type RowOrder, shortened } from "./fit.ts";
import { describe, describeOnly, omitInTurns, type WireSchema, wireSchema } from "./wire_schema.ts";

/** Fields that every concise result leaves out: a user sees one company, and rarely asks when. */
const ALWAYS_DETAILS = ["company_id", "created_at", "updated_at"];

const FORMATS = ["concise", "detailed"] as const;
const ResponseFormat = Type.Optional(describe(oneOf(FORMATS), "detailed: every field"));

const RequestId = Type.Optional(
  describeOnly(
    Type.String({ pattern: "^[\\x21-\\x7e]{1,255}$", description: "1 to 255 visible ASCII characters" }),
    `Sent again within ${LIMITS.idempotency_hours} h, nothing is done twice`,
  ),
);

const Cursor = Type.Optional(describeOnly(Type.String({ maxLength: 1_000 }), "meta.next_cursor, to go on"));

const Confirm = Type.Optional(
  describe(Type.String({ maxLength: 100 }), "The token of the question, after the person's yes"),
);

/** Has no default: leaving it out must not turn a trial into the real thing. */
const InEnvironment = describe(oneOf(ENVIRONMENTS), "never assumed");

/** An id, or the text by which answers name the record. */
const ID_OR_TEXT = { type: ["integer", "string"] };

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
  /**
   * What a person is asked before it happens, in a sentence or two that are the same each time for the same; null where
   * nothing needs to be asked. Errors: those that the call would have.
   */
  asks?: (ctx: Context, input: Static<TObject<I>>) => Promise<string | null>;
  /** It works in the `environment` that it takes as a parameter, never assumed. */
  takes_environment?: boolean;
  /** Which deployments have it; all by default. */
  is_available?: (config: Config) => boolean;
  /** Fields, at any depth, that the concise format leaves out; present where records are large. */
  details?: readonly string[];
  /** What its list is in the order of, ids by default; in another one rows that go with the last one given move what follows. */
  order?: RowOrder;
  /** It has no other format: the tool that reads the record returns all. */
  is_always_concise?: boolean;
  input: I;
  /** `{data}`, as REST's response. */
  output: O;
  run: (ctx: Context, input: Static<TObject<I>>, format: { is_detailed: boolean }) => Promise<Static<O>>;
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
  /** Whether it may ask a person first. */
  is_asking: boolean;
  /** What a person is asked before it runs with a checked input; null for nothing. */
  asks(ctx: Context, input: Record<string, unknown>): Promise<string | null>;
  /** Runs it with a checked input. Errors: those of its operations. */
  run(ctx: Context, input: Record<string, unknown>): Promise<Record<string, unknown>>;
}

/** A tool with the toolset that users grant it by. */
export interface ToolInSet extends Tool {
  toolset: Toolset;
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
    takes_environment = false,
    is_available = () => true,
  } = definition;
  const permissions = new Set(definition.operations.map(({ permission }) => permission));
  const is_read_only = ![...permissions].some(mayChange);
  const whole = wireSchema(definition.output);
  const goes_on = is_read_only && hasList(whole);
  const parameters = parametersOf(definition, goes_on);
  // The operation's own way to go on is part of ours.
  const goes_by = (["page", "cursor"] as const).find((field) => field in definition.input);
  const accepted = strict(parameters);
  /** What the definition itself takes, without what every tool may take. */
  const ownInput = (input: Record<string, unknown>, at: Place["at"] = null) => {
    const given = { ...input };
    if (is_read_only) delete given.cursor;
    if (at !== null && goes_by !== undefined) given[goes_by] = at;
    delete given.response_format;
    delete given.request_id;
    // The actor carries it already.
    if (takes_environment) delete given.environment;
    // Checked against `accepted`, which has these fields; TypeScript can't follow that through the spread.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    return given as Static<TObject<I>>;
  };
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
    is_asking: definition.asks !== undefined,
    listed: {
      name,
      title,
      description,
      inputSchema: rootOf({ ...wireSchema(strict(listedOf(parameters))), additionalProperties: false }),
      // Models read answers, not schemas: the whole ones are in the OpenAPI document.
      outputSchema: rootOf(definition.asks ? {} : { required: whole.required }),
      annotations: {
        readOnlyHint: is_read_only,
        destructiveHint: is_destructive,
        openWorldHint: is_open_world,
      },
    },
    asks: async (ctx, input) => (await definition.asks?.(ctx, ownInput(input))) ?? null,
    async run(ctx, { response_format = "concise", ...input }) {
      const is_detailed = response_format === "detailed";
      const is_concise = details !== undefined && !is_detailed;
      const read = async (at: Place["at"], more: object = {}) => {
        const answer = await definition.run(ctx, ownInput({ ...input, ...more }, at), { is_detailed });
        const shown = is_concise ? await omitInTurns(whole, answer, left_out) : answer;
        if (typeof shown !== "object" || shown === null) throw new Error(`${name} answers no object`);
        return { ...shown };
      };
      if (!is_read_only) return read(null);
      const { answer, place } = await resumed(readPlace(input.cursor, goes_by), read);
      const part = fitted(answer, place, goes_by === "page" ? (definition.order ?? "ids") : undefined);
      if (goes_by !== "cursor" || place.skip > 0) return part;
      return shortened({ answer, part }, (limit) => read(place.at, { limit }), place);
    },
  };
}

/** What a tool takes: its own parameters, and those that every tool of its kind has. */
function parametersOf<I extends TProperties, O extends TSchema>(
  definition: ToolDefinition<I, O>,
  goes_on: boolean,
): TProperties {
  const { details, is_always_concise, takes_environment, takes_request_id, asks } = definition;
  const has_formats = details !== undefined && is_always_concise !== true;
  return {
    ...(takes_environment ? { environment: InEnvironment } : {}),
    ...definition.input,
    ...(goes_on ? { cursor: Cursor } : {}),
    ...(has_formats ? { response_format: ResponseFormat } : {}),
    ...(takes_request_id ? { request_id: RequestId } : {}),
    ...(asks ? { confirm: Confirm } : {}),
  };
}

/** What is listed of it: pages go on by cursor, and some ids may be texts, which are looked up before. */
function listedOf(parameters: TProperties): TProperties {
  const listed: TProperties = { ...parameters };
  delete listed.page;
  for (const name of TEXT_IDS) {
    const [one, many] = [listed[name], listed[`${name}s`]];
    if (one) listed[name] = { ...one, "x-schema": ID_OR_TEXT };
    if (many) listed[`${name}s`] = { ...many, "x-schema": { type: "array", items: ID_OR_TEXT } };
  }
  return listed;
}

/** Whether an answer of a schema may be long. */
function hasList({ type, properties, anyOf }: WireSchema, depth = 3): boolean {
  if (type === "array") return true;
  if (depth === 0) return false;
  const inside = [...Object.values(properties ?? {}), ...(anyOf ?? [])];
  return inside.some((schema) => hasList(schema, depth - 1));
}

/** A schema as plain data: without the schema library's symbols. */
function rootOf(schema: WireSchema): RootSchema {
  return JSON.parse(JSON.stringify({ ...schema, type: "object" }));
}

/**
 * Whether a tool is of the actor's level and deployment, the authorization is for it, and the actor may call all its
 * operations.
 */
export function isVisible(
  { actor, config }: Viewer,
  { level, permissions, is_available, is_read_only, toolset }: ToolInSet,
): boolean {
  if (!is_available(config) || levelOf(actor) !== level) return false;
  const reach = actor.kind === "user" && actor.toolsets ? actor.toolsets[toolset] : "write";
  if (reach === undefined || (reach === "read" && !is_read_only)) return false;
  return [...permissions].every((permission) => may(actor, permission));
}
