import { type Answer, type Api, apiOf, PASSWORD, type Service } from "./harness.ts";

/** What browsers send with a page's own requests. */
export const OWN_PAGE = { "sec-fetch-site": "same-origin" };

/** A browser in which a user signed in, without a browser: it sends the cookie, and says that its pages are our own. */
export interface SignedInBrowser {
  api: Api;
  /** `name=token`. */
  cookie: string;
  /** The answer to the sign-in. */
  answer: Answer;
}

/** Signs in as the console does. */
export async function openBrowser(
  service: Pick<Service, "url" | "anonymous">,
  email: string,
  { password = PASSWORD, headers = {} }: { password?: string; headers?: Record<string, string> } = {},
): Promise<SignedInBrowser> {
  const sent = { ...OWN_PAGE, ...headers };
  const answer = await service.anonymous("POST", "/session", { email, password }, sent);
  if (answer.status !== 200) throw new Error(`Cannot sign ${email} in: ${answer.status}`);
  const cookie = answer.headers.get("set-cookie")?.split(";")[0] ?? "";
  return { api: apiOf(service.url, { cookie, ...OWN_PAGE }), cookie, answer };
}
