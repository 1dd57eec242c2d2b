import { AppError } from "../core/errors.ts";
import { isTracing, span, traceIds } from "../core/trace.ts";
import { STATUS } from "./errors.ts";

const SERVER_ERROR = 500;

/** A request as it is traced: its route is the template, since a path may hold a secret. */
interface TracedRequest {
  request: Request;
  route: string;
  set: { status?: number | string | undefined };
}

/** The ids of requests' spans: an error is logged when its span is over. */
const ids = new WeakMap<Request, ReturnType<typeof traceIds>>();

/** The ids of a request's span, for its log lines. */
export const traceIdsOf = (request: Request): ReturnType<typeof traceIds> => ids.get(request) ?? {};

/** Runs what serves a request in a span, in the trace that its headers name. */
export function traceRequest<T>({ request, route, set }: TracedRequest, serve: () => Promise<T>): Promise<T> {
  if (!isTracing()) return serve();
  const attributes = { "http.request.method": request.method, "http.route": route };
  const options = { kind: "server", attributes, parent: request.headers } as const;
  return span(`${request.method} ${route}`, options, async (current) => {
    ids.set(request, traceIds());
    let status = SERVER_ERROR;
    try {
      const answer = await serve();
      status = answer instanceof Response ? answer.status : Number(set.status ?? 200);
      return answer;
    } catch (error) {
      if (error instanceof AppError) status = STATUS[error.kind];
      throw error;
    } finally {
      current.set({ "http.response.status_code": status });
      if (status >= SERVER_ERROR) current.fail(String(status));
    }
  });
}
