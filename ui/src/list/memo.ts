// A component that renders again only if one of its props has changed.

import { Component, type ComponentChild, h, type FunctionComponent } from "preact";

export function memo<Props extends object>(draw: FunctionComponent<Props>): FunctionComponent<Props> {
  class Memo extends Component<Props> {
    override shouldComponentUpdate(next: Props): boolean {
      const now = this.props as Record<string, unknown>;
      return Object.entries(next).some(([name, value]) => now[name] !== value);
    }

    override render(): ComponentChild {
      return h(draw, this.props as Props & preact.Attributes);
    }
  }
  return (props) => h(Memo, props as Props & preact.Attributes);
}
