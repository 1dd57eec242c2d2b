import { type ComponentChildren, options, type VNode } from "preact";
import { selfContained } from "../text/isolated.ts";

// Every text that is drawn is self-contained, wherever a page puts it: a name cannot turn what stands beside it. Values of
// fields are left as they are: what is saved again is what was read.

const before = options.vnode?.bind(options);

options.vnode = (vnode: VNode<{ children?: ComponentChildren }>) => {
  const { props } = vnode;
  if (props.children !== undefined) props.children = drawn(props.children);
  before?.(vnode);
};

function drawn(children: ComponentChildren): ComponentChildren {
  if (typeof children === "string") return selfContained(children);
  return Array.isArray(children) ? children.map(drawn) : children;
}
