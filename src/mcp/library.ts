import {
  type GetPromptResult,
  type ListPromptsResult,
  type ListResourcesResult,
  type ListResourceTemplatesResult,
  ProtocolError,
  ProtocolErrorCode,
  type ReadResourceResult,
  ResourceNotFoundError,
} from "@modelcontextprotocol/server";
import type { Deps } from "../app/deps.ts";
import { may } from "../core/access.ts";
import { AppError } from "../core/errors.ts";
import type { ToolCall } from "./call_tool.ts";
import { ARGUMENT_LENGTH, type Prompt } from "./prompt.ts";
import { idIn, isTemplate, type Resource } from "./resource.ts";
import type { Viewer } from "./tool.ts";
import type { ToolSet } from "./tool_set.ts";

/** The prompts and resources, filtered by viewer as the tools are. Decision 0287. */
export class Library {
  readonly #tools: ToolSet;
  readonly #prompts: readonly Prompt[];
  readonly #resources: readonly Resource[];

  constructor(tools: ToolSet, prompts: readonly Prompt[], resources: readonly Resource[]) {
    this.#tools = tools;
    this.#prompts = prompts;
    this.#resources = resources;
  }

  prompts(viewer: Viewer): ListPromptsResult {
    const prompts = this.#prompts.filter((prompt) => this.#isOpen(viewer, prompt));
    return {
      prompts: prompts.map(({ name, title, description, arguments: taken }) => ({
        name,
        title,
        description,
        arguments: taken.map((argument) => ({ ...argument })),
      })),
    };
  }

  /** The text of a prompt. Errors: invalid params for one that the viewer does not see, and for its arguments. */
  prompt(viewer: Viewer, name: string, given: Readonly<Record<string, string>> = {}): GetPromptResult {
    const prompt = this.#prompts.find((each) => each.name === name);
    if (!prompt || !this.#isOpen(viewer, prompt)) throw refused(`Unknown prompt: ${short(name)}`);
    const known = new Map(prompt.arguments.map((argument) => [argument.name, argument]));
    const unknown = Object.keys(given).find((argument) => !known.has(argument));
    if (unknown !== undefined) throw refused(`${short(unknown)} is not an argument of ${name}`);
    const values: Record<string, string> = {};
    for (const { name: argument, required } of prompt.arguments) {
      const value = (given[argument] ?? "").trim();
      if (value === "" && required) throw refused(`${argument} is required`);
      if (value.length > ARGUMENT_LENGTH)
        throw refused(`${argument} must have at most ${ARGUMENT_LENGTH} characters`);
      values[argument] = value;
    }
    const content = { type: "text" as const, text: prompt.text(values) };
    return { description: prompt.description, messages: [{ role: "user", content }] };
  }

  resources(viewer: Viewer): ListResourcesResult {
    const listed = this.#visible(viewer).filter((resource) => !isTemplate(resource));
    return { resources: listed.map((resource) => ({ uri: resource.uri, ...entryOf(resource) })) };
  }

  templates(viewer: Viewer): ListResourceTemplatesResult {
    const listed = this.#visible(viewer).filter(isTemplate);
    const resourceTemplates = listed.map((resource) => ({
      uriTemplate: resource.uri,
      ...entryOf(resource),
    }));
    return { resourceTemplates };
  }

  /** The text at an address. Errors: resource not found, also for what the viewer may not see; unavailable. */
  async read(deps: Deps, caller: ToolCall, uri: string): Promise<ReadResourceResult> {
    for (const resource of this.#visible({ actor: caller.actor, config: deps.config })) {
      const id = idIn(resource, uri);
      if (id === undefined) continue;
      const text = await readOr404(deps, caller, resource, id, uri);
      return { contents: [{ uri, mimeType: resource.mime_type, text }] };
    }
    throw new ResourceNotFoundError(short(uri));
  }

  #isOpen(viewer: Viewer, { tools }: Prompt): boolean {
    return tools.every((name) => this.#tools.find(viewer, name) !== undefined);
  }

  #visible({ actor }: Viewer): Resource[] {
    const toolsets = actor.kind === "user" ? actor.toolsets : undefined;
    return this.#resources.filter(({ toolset, permission }) => {
      if (permission !== undefined && !may(actor, permission)) return false;
      return toolset === undefined || toolsets === undefined || toolsets[toolset] !== undefined;
    });
  }
}

/** What is thrown reaches the client: of what broke inside it tells the request's id and nothing else. */
async function readOr404(
  deps: Deps,
  caller: ToolCall,
  resource: Resource,
  id: number,
  uri: string,
): Promise<string> {
  try {
    return await resource.read(deps.openContext({ ...caller, origin: "mcp" }), id);
  } catch (error) {
    if (error instanceof AppError && error.kind === "not_found") throw new ResourceNotFoundError(uri);
    const { request_id } = caller;
    if (error instanceof AppError) throw new ProtocolError(ProtocolErrorCode.InternalError, error.message);
    deps.log.error({ err: error, request_id, resource: resource.name }, "internal error");
    const message = `Internal error: its cause is in the log; the request id is ${request_id}`;
    throw new ProtocolError(ProtocolErrorCode.InternalError, message);
  }
}

function entryOf({ name, title, description, mime_type }: Resource) {
  return { name, title, description, mimeType: mime_type };
}

/** A name that the caller made up, which may be of any length. */
function short(text: string): string {
  return text.slice(0, ARGUMENT_LENGTH);
}

function refused(message: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, message);
}
