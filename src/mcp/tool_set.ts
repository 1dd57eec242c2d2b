import { isVisible, type Tool, type Viewer } from "./tool.ts";

/** The service's tools, filtered by viewer. */
export class ToolSet {
  readonly #tools: readonly Tool[];
  readonly #by_name: ReadonlyMap<string, Tool>;

  constructor(tools: readonly Tool[]) {
    this.#tools = tools;
    this.#by_name = new Map(tools.map((tool) => [tool.name, tool]));
  }

  /** The tools that the viewer sees, in the order of the list. */
  visibleTo(viewer: Viewer): Tool[] {
    return this.#tools.filter((tool) => isVisible(viewer, tool));
  }

  /** The tool of this name, if the viewer sees it: a hidden tool is reported as unknown. */
  find(viewer: Viewer, name: string): Tool | undefined {
    const found = this.#by_name.get(name);
    return found && isVisible(viewer, found) ? found : undefined;
  }

  /** The tool that finds valid values of a parameter, if the viewer sees it. */
  finderOf(viewer: Viewer, parameter: string): Tool | undefined {
    return this.visibleTo(viewer).find(({ finds }) => finds.includes(parameter));
  }
}
