// A part of a page with a heading.

import type { ComponentChildren, JSX } from "preact";

type SectionProps = { title: string; aside?: ComponentChildren; children: ComponentChildren; class?: string };

export function Section({ title, aside, children, class: name }: SectionProps): JSX.Element {
  return (
    <section class={name ? `part ${name}` : "part"}>
      <header class="part-head">
        <h2>{title}</h2>
        {aside}
      </header>
      {children}
    </section>
  );
}
