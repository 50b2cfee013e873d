export interface Query { placeholder: true }
