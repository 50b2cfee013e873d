export interface DomainTable { placeholder: true }
