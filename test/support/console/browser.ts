import { afterAll, describe } from "bun:test";
import { existsSync } from "node:fs";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { CHROMIUM_PATH, launchChromium, signInTo } from "../../../bench/chromium.ts";
import { PASSWORD, type Service } from "../harness.ts";

/** Why there is no browser here. */
const missing = existsSync(CHROMIUM_PATH)
  ? undefined
  : `skipped: the console's tests need Chromium: install Debian's package chromium-headless-shell or chromium, or name it by CHROMIUM_PATH`;
if (missing !== undefined) {
  // Where all is to be tested, what is skipped would pass for tested.
  if (process.env.CI) throw new Error(missing.replace("skipped: ", ""));
  console.log(missing);
}

/** Tests in a browser; skipped where there is none. */
export const describeInBrowser = missing === undefined ? describe : describe.skip;

let launched: Promise<Browser> | undefined;

/** One browser for all files of a process: each takes a second to start. It ends with the process. */
function browser(): Promise<Browser> {
  launched ??= launchChromium();
  return launched;
}

/** How a browser looks at a page, and what is done before it loads one. */
export interface Look {
  prepare?: (page: Page) => Promise<unknown>;
  width?: number;
  height?: number;
  is_dark?: boolean;
  locale?: string;
  timezone?: string;
}

/** What went wrong in a page that no test looked for. */
export interface Trouble {
  kind: "console" | "policy" | "foreign request" | "error";
  text: string;
}

export interface Opened {
  page: Page;
  /** Console errors, violations of the policy, requests to elsewhere: to be empty. */
  troubles: Trouble[];
}

/** A browser for the tests of a file, in which users are signed in. */
export function useBrowser(service: Pick<Service, "url">) {
  const contexts: BrowserContext[] = [];
  /** A user's, by how the browser looks: files stay cached, and nobody signs in twice. */
  const known = new Map<string, Promise<BrowserContext>>();
  afterAll(async () => {
    await Promise.all(contexts.map((context) => context.close()));
  });
  const newContext = async ({
    width = 1280,
    height = 900,
    is_dark = false,
    locale = "en-GB",
    timezone = "UTC",
  }: Look) => {
    const context = await (await browser()).newContext({
      viewport: { width, height },
      colorScheme: is_dark ? "dark" : "light",
      reducedMotion: "reduce",
      locale,
      timezoneId: timezone,
      permissions: ["clipboard-read", "clipboard-write"],
    });
    context.setDefaultTimeout(90_000);
    contexts.push(context);
    return context;
  };
  const signedIn = async (email: string, look: Look) => {
    const context = await newContext(look);
    await signInTo(context, service.url, { email, password: PASSWORD });
    return context;
  };
  return {
    /** A page of nobody yet. */
    async open(path = "/console", look: Look = {}): Promise<Opened> {
      return openIn(await newContext(look), service.url, path, look);
    },
    /** A page of a user who is signed in; the session is shared by the file's pages of that user. */
    async openAs(email: string, path = "/console", look: Look = {}): Promise<Opened> {
      const key = JSON.stringify([email, look]);
      const context = known.get(key) ?? signedIn(email, look);
      known.set(key, context);
      return openIn(await context, service.url, path, look);
    },
    /** A page of a user with a session of its own, which may be ended. */
    async openAlone(email: string, path = "/console", look: Look = {}): Promise<Opened> {
      return openIn(await signedIn(email, look), service.url, path, look);
    },
  };
}

async function openIn(context: BrowserContext, url: string, path: string, look: Look): Promise<Opened> {
  const page = await context.newPage();
  const troubles: Trouble[] = [];
  page.on("console", (message) => {
    const text = message.text();
    if (message.type() !== "error" || /Failed to load resource/.test(text)) return;
    troubles.push({ kind: /Content Security Policy/.test(text) ? "policy" : "console", text });
  });
  page.on("pageerror", (error) => troubles.push({ kind: "error", text: String(error) }));
  page.on("request", (request) => {
    const to = request.url();
    if (!to.startsWith(url) && !/^(data|blob):/.test(to))
      troubles.push({ kind: "foreign request", text: to });
  });
  await look.prepare?.(page);
  await page.goto(`${url}${path}`);
  return { page, troubles };
}
