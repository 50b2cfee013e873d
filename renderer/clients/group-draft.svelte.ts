/** A group while it is written: what stands in the fields, and the group that they make. */
import { splitLines } from '../format/lines.ts';
import type { SafeEngine } from '../services/service-text.ts';
import type { ClientGroup } from '../client/answers.ts';

export type SafeChoice = 'as-all' | 'on' | 'off' | 'some';

export class GroupDraft {
  name = $state('');
  filtering = $state(true);
  hasAllLists = $state(true);
  lists = $state<string[]>([]);
  /** One a line. */
  rules = $state('');
  services = $state<string[]>([]);
  safe = $state<SafeChoice>('as-all');
  engines = $state<SafeEngine[]>([]);

  /** @param group  to begin with; undefined for a new one */
  constructor(group: ClientGroup | undefined) {
    if (group === undefined) return;
    this.name = group.name;
    this.filtering = group.filtering;
    this.hasAllLists = group.lists === undefined;
    this.lists = [...(group.lists ?? [])];
    this.rules = group.rules.join('\n');
    this.services = [...group.services];
    const { safeSearch } = group;
    if (Array.isArray(safeSearch)) {
      this.safe = 'some';
      this.engines = [...safeSearch];
    } else if (safeSearch !== undefined) {
      this.safe = safeSearch ? 'on' : 'off';
    }
  }

  block(ids: readonly string[], isBlocked: boolean): void {
    const others = this.services.filter((id) => !ids.includes(id));
    this.services = isBlocked ? [...others, ...ids] : others;
  }

  toGroup(): ClientGroup {
    const { filtering, safe } = this;
    const group: ClientGroup = {
      name: this.name.trim(),
      rules: splitLines(this.rules),
      services: [...this.services],
      filtering,
    };
    if (!this.hasAllLists) group.lists = [...this.lists];
    if (safe === 'some') group.safeSearch = [...this.engines];
    else if (safe !== 'as-all') group.safeSearch = safe === 'on';
    return group;
  }
}
