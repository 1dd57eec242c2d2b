import { computed, signal } from "@preact/signals";
import type { Me } from "../../access/sessions/model.ts";
import type { Permission } from "../../core/access.ts";
import type { Nothing } from "../../core/schema.ts";
import type { Static } from "@sinclair/typebox";
import {
  type Failure,
  failureFrom,
  get,
  type Input,
  post,
  remove,
  send,
  whenSignedOut,
} from "../api/call.ts";
import { refresh } from "../api/cache.ts";

type SignedIn = Static<typeof Me>;

const getMe = get<typeof Me>("/me");
const openSession = post<typeof Me>("/session");
const closeSession = remove<typeof Nothing>("/session");

/** Who is signed in: undefined until it is known, null for nobody. */
export const me = signal<SignedIn | null | undefined>(undefined);

/** Whether the session ended while pages are shown: signing in again goes on with them. */
export const hasEnded = signal(false);

const NOWHERE = { id: 0, name: "", timezone: "UTC", currency: "USD" };

/** The company of who is signed in. */
export const company = computed(() => me.value?.company ?? NOWHERE);

/** Whether who is signed in may do something: what one may not is not shown. */
export const may = (permission: Permission): boolean => me.value?.permissions.includes(permission) ?? false;

whenSignedOut(() => {
  if (me.value) hasEnded.value = true;
  else me.value = null;
});

/** Why it is not known who is signed in. */
export const unknown = signal<Failure | undefined>(undefined);

/** Finds out who is signed in: at the start, and again when one comes back to this tab. */
export async function findSession(): Promise<void> {
  unknown.value = undefined;
  try {
    become((await send(getMe, {}, { is_sign_in: true })).data);
  } catch (error) {
    const failure = failureFrom(error);
    if (failure.status === 401) {
      if (me.value) hasEnded.value = true;
      else me.value = null;
    } else if (me.value === undefined) unknown.value = failure;
  }
}

/** Somebody is signed in: another one must not see what the one before was shown. */
function become(user: SignedIn): void {
  if (me.value && (me.value.id !== user.id || me.value.company.id !== user.company.id)) return begin();
  if (JSON.stringify(me.value) !== JSON.stringify(user)) me.value = user;
  if (!hasEnded.value) return;
  hasEnded.value = false;
  refresh();
}

/** In another tab somebody may have signed out, or in as somebody else. */
const LOOK_AGAIN_MS = 30_000;
let seen_at = 0;
document.addEventListener("visibilitychange", () => {
  if (document.hidden) seen_at = performance.now();
  else if (me.value && performance.now() - seen_at > LOOK_AGAIN_MS) void findSession();
});

/** Signs in. Errors: Failure. */
export async function signIn(input: Input): Promise<void> {
  become((await send(openSession, input, { is_sign_in: true })).data);
}

/** Ends the session. Errors: Failure, while it goes on. */
export async function signOut(): Promise<void> {
  await send(closeSession, {}, { is_sign_in: true }).catch((error: unknown) => {
    if (failureFrom(error).status !== 401) throw error;
  });
  begin();
}

/** Begins anew, with nothing left of what was shown. */
function begin(): void {
  location.assign("/console");
}
