import type { ButtonHTMLAttributes, ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { copyText } from "./copy.ts";
import { Icon, type IconName } from "./icon.tsx";

/** `link` looks like one, in the middle of texts. */
type Kind = "primary" | "plain" | "quiet" | "danger" | "link";

type ButtonProps = Omit<ButtonHTMLAttributes, "class"> & {
  class?: string;
  kind?: Kind;
  icon?: IconName;
  /** What it does is being done: it does nothing meanwhile, and keeps the focus, which browsers take from disabled ones. */
  is_busy?: boolean;
  children: ComponentChildren;
};

/** A button that says its act. */
export function Button({
  kind = "plain",
  icon,
  is_busy = false,
  children,
  class: more,
  ...rest
}: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      {...(is_busy && { "aria-disabled": true as const, onClick: (event: Event) => event.preventDefault() })}
      class={`button ${kind}${more ? ` ${more}` : ""}`}
    >
      {icon && <Icon name={icon} />}
      {children}
    </button>
  );
}

/** A link that looks like a button: it leads somewhere. */
export function LinkButton(props: {
  href: string;
  kind?: Kind;
  icon?: IconName;
  download?: boolean;
  children: ComponentChildren;
}) {
  const { href, kind = "plain", icon, children, download = false } = props;
  return (
    <a class={`button ${kind}`} href={href} {...(download && { download: "" })}>
      {icon && <Icon name={icon} />}
      {children}
    </a>
  );
}

/** A button with only a picture; its label is read out and shown on hover. */
export function IconButton(
  props: Omit<ButtonHTMLAttributes, "class"> & { class?: string; icon: IconName; label: string },
) {
  const { icon, label, class: more, ...rest } = props;
  return (
    <button
      type="button"
      {...rest}
      class={`icon-button${more ? ` ${more}` : ""}`}
      aria-label={label}
      title={label}
    >
      <Icon name={icon} />
    </button>
  );
}

/** Copies a text, and says so. */
export function CopyButton({ text, label = "Copy" }: { text: string; label?: string }) {
  const [is_copied, setCopied] = useState(false);
  const copy = async () => {
    await copyText(text);
    setCopied(true);
    setTimeout(setCopied, 2_000, false);
  };
  return (
    <>
      <Button kind="quiet" icon={is_copied ? "check" : "copy"} onClick={() => void copy()}>
        {is_copied ? "Copied" : label}
      </Button>
      <span class="unseen" role="status">
        {is_copied && "Copied"}
      </span>
    </>
  );
}
