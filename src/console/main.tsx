import { render } from "preact";
import { LocationProvider } from "preact-iso";
import { ChoosePassword, isLink } from "./app/link.tsx";
import { findSession, me, unknown } from "./app/session.ts";
import { Shell } from "./app/shell.tsx";
import { Alone, SignIn } from "./app/sign_in.tsx";
import "./app/texts.ts";
import "./app/theme.ts";
import { FailureNotice } from "./ui/states.tsx";

function App() {
  if (isLink) return <ChoosePassword />;
  if (me.value === null) return <SignIn />;
  if (me.value)
    return (
      <LocationProvider scope="/console">
        <Shell />
      </LocationProvider>
    );
  if (unknown.value === undefined) return null;
  return (
    <Alone title="Not reachable">
      <FailureNotice failure={unknown.value} onRetry={() => void findSession()} />
    </Alone>
  );
}

const place = document.getElementById("app");
if (place === null) throw new Error("The document has no place for the console");
render(<App />, place);
if (!isLink) await findSession();
