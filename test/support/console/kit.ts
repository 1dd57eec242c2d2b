import { beforeAll } from "bun:test";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { buildConsole } from "../../../src/console/server/build.ts";
import type { Service } from "../harness.ts";
import { type Look, type Opened, useBrowser } from "./browser.ts";
import { expectNoTrouble, settle } from "./walk.ts";

const SOURCES = join(import.meta.dir, "../../console/kit");
let built: ReturnType<typeof buildConsole> | undefined;

/** Has a tab load the page of the whole kit in place of the console: same document, policy, session and interface. */
async function loadKit(page: Page): Promise<void> {
  built ??= buildConsole(SOURCES);
  const { files, script, stylesheet } = await built;
  await page.route(/\/console\/assets\//, async (route) => {
    const asked = new URL(route.request().url()).pathname.split("/").at(-1) ?? "";
    const name = { main: script, console: stylesheet }[asked.split("-")[0] ?? ""] ?? asked;
    const file = files.get(name);
    if (file === undefined) return route.abort();
    const body = Buffer.from(Bun.gunzipSync(file.gzipped));
    await route.fulfill({ body, headers: { "content-type": file.media_type } });
  });
}

/** The clients that the kit's lists show. */
export const CLIENTS = ["Acme", "Brown & Sons", "Globex", "Hooli", "Initech", "Umbrella", "Wonka"];

/** The kit's page, over a service of a few clients. */
export function useKit(service: Service) {
  const browser = useBrowser(service);
  beforeAll(async () => {
    for (const name of CLIENTS) await service.api("POST", "/clients", { name });
  });
  const open = async (query = "", look: Look = {}): Promise<Opened> => {
    const path = `/console/kit${query}`;
    const opened = await browser.openAs(service.admin_email, path, { ...look, prepare: loadKit });
    await settle(opened.page);
    return opened;
  };
  return {
    open,
    /** Runs some steps on the page; nothing may go wrong unseen. */
    inKit: async (act: (page: Page) => Promise<void>, query?: string): Promise<void> => {
      const { page, troubles } = await open(query);
      try {
        await act(page);
        expectNoTrouble(troubles);
      } finally {
        await page.close();
      }
    },
  };
}
