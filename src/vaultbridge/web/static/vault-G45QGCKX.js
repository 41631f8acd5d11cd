import{h as t,k as e,r as o}from"./chunk-6D2VLWLS.js";function r(u){return o(""),t(e,{icon:"vault",title:"Vault"})}export{r as default};
